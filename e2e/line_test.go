package e2e

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/e2e/harness"
	"heliograph.example/e2e/proxy"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// line is the way from a factory to the server, through a proxy of its own, with
// a name by which the server's audit log knows who asks.
type line struct {
	agent   string
	config  *rest.Config
	proxy   *proxy.Proxy
	factory *informer.Factory
}

// newLine makes one for clients with a configuration. Until the test ends, what
// the server has received is at hand if it fails.
func newLine(t *testing.T, config *rest.Config) *line {
	t.Helper()
	config = rest.CopyConfig(config)
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Start(server.Host)
	if err != nil {
		t.Fatal(err)
	}
	server.Host = p.Addr()
	config.Host = server.String()
	config.UserAgent = "heliograph " + t.Name()
	// What is compressed is too little to be slow, or cut in the middle.
	config.DisableCompression = true
	l := &line{agent: config.UserAgent, config: config, proxy: p}
	if l.factory, err = informer.NewFactory(config, informer.FactoryOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.factory.Stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			for _, r := range received(t, l.agent) {
				t.Log(r)
			}
		}
	})
	return l
}

// start runs the factory and returns when all its informers are synced.
func (l *line) start(t *testing.T) {
	t.Helper()
	l.factory.Start(t.Context())
	synced(t, l.factory)
}

// cut breaks the connections, and returns when each subject watches anew.
func (l *line) cut(ctx context.Context, subjects ...subject) error {
	before := make([]uint64, len(subjects))
	for n, s := range subjects {
		before[n] = s.status().Reader.Watches
	}
	if err := await(ctx, func() error {
		if l.proxy.Cut() == 0 {
			return fmt.Errorf("no connection is open")
		}
		return nil
	}); err != nil {
		return err
	}
	for n, s := range subjects {
		if err := await(ctx, func() error {
			if r := s.status().Reader; r.Watches == before[n] || r.State != reflector.Watching {
				return fmt.Errorf("no new watch since a cut: %v", r)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// received is what the server has been asked by an agent.
func received(t *testing.T, agent string) []harness.Received {
	t.Helper()
	all, err := cluster.Received(agent)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tally counts requests for a resource by what they ask for.
type tally struct {
	// lists are first pages, and pages those that follow; proofs are lists of
	// one object, which ask for the version of the server and not for the state.
	lists, pages, proofs, streams, watches int
}

func (y tally) all() int { return y.lists + y.pages + y.proofs + y.streams + y.watches }

func (y tally) String() string {
	return fmt.Sprintf("%d lists, %d further pages, %d proofs, %d streaming lists, %d watches", y.lists, y.pages, y.proofs, y.streams, y.watches)
}

// count tallies what the server has been asked by an agent about a resource.
func count(t *testing.T, agent, resource string) (y tally) {
	t.Helper()
	for _, r := range received(t, agent) {
		switch {
		case r.Resource != resource:
		case r.Verb == "list" && r.Query.Get("continue") != "":
			y.pages++
		case r.Verb == "list" && r.Query.Get("limit") == "1":
			y.proofs++
		case r.Verb == "list":
			y.lists++
		case r.Query.Get("sendInitialEvents") == "true":
			y.streams++
		default:
			y.watches++
		}
	}
	return y
}

// listedOnce checks that a state was streamed once and never again, and that the
// server was asked for no more than so many watches.
func (l *line) listedOnce(t *testing.T, s subject, watches int) {
	t.Helper()
	y := count(t, l.agent, s.of().plural)
	t.Logf("ours: %v", y)
	if y.streams != 1 || y.lists != 0 || y.watches > watches {
		t.Errorf("the server was asked for %v; want one streaming list, no other, and at most %d watches", y, watches)
	}
	if r := s.status().Reader; r.Streams != 1 || r.Fallback != "" {
		t.Errorf("the reader counts %d streaming lists, fallback %q; want 1 and none", r.Streams, r.Fallback)
	}
}

// mapsIn is the subject for the ConfigMaps of a namespace.
func mapsIn(t *testing.T, f *informer.Factory, namespace string, options reflector.Options[*corev1.ConfigMap]) *informed[*corev1.ConfigMap] {
	t.Helper()
	c := client(t, protobufConfig())
	return tunedSubject(t, f, configMaps,
		informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{Namespace: namespace}, Reflector: options},
		func(ctx context.Context) ([]*corev1.ConfigMap, error) {
			list, err := c.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, err
			}
			return pointers(list.Items), nil
		})
}

// proved compares store and handlers with a list of the server, and what the
// handlers were told with the promises.
func proved(t *testing.T, s subject) {
	t.Helper()
	settle(t, []subject{s})
	if err := s.agrees(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.judge(nil); err != nil {
		t.Error(err)
	}
	t.Log(s.counts())
}

// rival is client-go's informer beside ours. What it does is told, not judged.
type rival struct {
	agent string
	store cache.Store
}

// newRival runs client-go's informer of the ConfigMaps of a namespace, on the same
// line, until the test ends. It returns when that is synced.
func newRival(t *testing.T, l *line, namespace string) *rival {
	t.Helper()
	config := rest.CopyConfig(l.config)
	config.UserAgent = "client-go " + t.Name()
	f := informers.NewSharedInformerFactoryWithOptions(client(t, config), 0, informers.WithNamespace(namespace))
	i := f.Core().V1().ConfigMaps().Informer()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	f.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		f.Shutdown()
	})
	eventually(t, "client-go", func() error {
		if !i.HasSynced() {
			return fmt.Errorf("it is not synced")
		}
		return nil
	})
	return &rival{agent: config.UserAgent, store: i.GetStore()}
}

// tell logs how client-go fares at the moment, given the version of the last write.
func (r *rival) tell(t *testing.T, namespace, version string) {
	t.Helper()
	how := "stale"
	key := types.NamespacedName{Namespace: namespace, Name: sentinel}
	if o, ok, _ := r.store.GetByKey(key.String()); ok && o.(*corev1.ConfigMap).ResourceVersion == version {
		how = "up to date"
	}
	t.Logf("client-go: %v; %s at this moment", count(t, r.agent, configMaps.plural), how)
}

func TestTheServerTellsWhatItWasAskedByWhom(t *testing.T) {
	const namespace = "asked"
	makeNamespace(t, client(t, protobufConfig()), namespace)
	for _, agent := range []string{"asker", "somebody else"} {
		config := protobufConfig()
		config.UserAgent = agent
		maps := client(t, config).CoreV1().ConfigMaps(namespace)
		if _, err := maps.List(t.Context(), metav1.ListOptions{Limit: 7}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			w.Stop()
		}
		if _, err := maps.Get(t.Context(), "absent", metav1.GetOptions{}); err == nil {
			t.Error("there is what should be absent")
		}
	}
	all := received(t, "asker")
	if y := count(t, "asker", configMaps.plural); len(all) != 3 || y != (tally{lists: 1, watches: 2}) {
		t.Fatalf("the server was asked for %v (%v), want one list and two watches", y, all)
	}
	if first := all[0]; first.Path != "/api/v1/namespaces/asked/configmaps" || first.Query.Get("limit") != "7" || first.At.IsZero() {
		t.Errorf("the list is %+v", first)
	}
}
