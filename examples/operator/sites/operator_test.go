package sites

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.uber.org/goleak"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/controller"
	"heliograph.example/examples/operator/site"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const namespace, name = "default", "home"

var key = types.NamespacedName{Namespace: namespace, Name: name}

// world is a server with the kind Site, in virtual time.
type world struct {
	*apiservertest.Server
	t     *testing.T
	sites *site.Client
}

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		resources, err := apiserver.ResourcesFromCRD(site.Definition)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{Server: apiservertest.Start(t, apiserver.Options{Resources: resources}), t: t}
		if w.sites, err = site.NewClient(w.Config()); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

// start runs an operator until stop is called.
func (w *world) start() (o *Operator, stop func() error) {
	w.t.Helper()
	o, err := New(w.t.Context(), w.Config(), Options{Namespace: namespace, Workers: 2})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
	w.rest()
	return o, func() error {
		cancel()
		return <-ended
	}
}

// rest waits until nothing is to be done any more.
func (w *world) rest() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// create makes a site and gives the operator time.
func (w *world) create(content string) {
	w.t.Helper()
	s := &site.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: site.Spec{Content: content}}
	if _, err := w.sites.Sites(namespace).Create(w.t.Context(), s, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.rest()
}

func (w *world) site() *site.Site {
	w.t.Helper()
	s, err := w.sites.Sites(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) deployment() *appsv1.Deployment {
	w.t.Helper()
	d, err := w.Client().AppsV1().Deployments(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// serve makes the servers of the site ready, as a cluster would.
func (w *world) serve() {
	w.t.Helper()
	d := w.deployment()
	d.Status.ObservedGeneration, d.Status.ReadyReplicas = d.Generation, *d.Spec.Replicas
	if _, err := w.Client().AppsV1().Deployments(namespace).UpdateStatus(w.t.Context(), d, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.rest()
}

// wantPage checks what the children say.
func (w *world) wantPage(content string) {
	w.t.Helper()
	config, err := w.Client().CoreV1().ConfigMaps(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if got := config.Data[page]; got != content {
		w.t.Errorf("the page is %q, want %q", got, content)
	}
	if got := w.deployment().Spec.Template.Annotations[ContentAnnotation]; got != config.ResourceVersion {
		w.t.Errorf("the servers load version %s, the page is at %s", got, config.ResourceVersion)
	}
	if _, err := w.Client().CoreV1().Services(namespace).Get(w.t.Context(), name, metav1.GetOptions{}); err != nil {
		w.t.Error(err)
	}
}

// wantCondition checks the condition Ready.
func (w *world) wantCondition(status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	s := w.site()
	if len(s.Status.Conditions) != 1 || s.Status.Conditions[0].Status != status || s.Status.Conditions[0].Reason != reason {
		w.t.Errorf("conditions: %+v, want Ready=%s, %s", s.Status.Conditions, status, reason)
	}
	if s.Status.ObservedGeneration != s.Generation {
		w.t.Errorf("the status is about generation %d, the site is at %d", s.Status.ObservedGeneration, s.Generation)
	}
}

// writes counts what the operator has written since a mark: leases and events aside.
func (w *world) writes(mark int) (n int) {
	for _, r := range w.Log().Since(mark).Writes() {
		if r.Resource.Resource != "leases" && r.Resource.Resource != "events" {
			n++
		}
	}
	return n
}

func TestASiteGetsWhatItAsksFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.start()
		w.create("hello")
		w.wantPage("hello")
		w.wantCondition(metav1.ConditionFalse, progressing)
		w.serve()
		w.wantCondition(metav1.ConditionTrue, "Serving")

		mark := w.Mark()
		time.Sleep(time.Hour)
		if n := w.writes(mark); n != 0 {
			t.Errorf("%d writes in an hour in which nothing happened", n)
		}

		s := w.site()
		three := int32(3)
		s.Spec.Content, s.Spec.Replicas = "good bye", &three
		if _, err := w.sites.Sites(namespace).Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.rest()
		w.wantPage("good bye")
		if got := *w.deployment().Spec.Replicas; got != 3 {
			t.Errorf("%d replicas", got)
		}
		w.wantCondition(metav1.ConditionFalse, progressing)
		w.serve()
		w.wantCondition(metav1.ConditionTrue, "Serving")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatSomebodyElseDoesToItsChildrenIsMended(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.start()
		w.create("hello")
		w.serve()
		ctx, client := t.Context(), w.Client()
		for what, err := range map[string]error{
			"ConfigMap":  client.CoreV1().ConfigMaps(namespace).Delete(ctx, name, metav1.DeleteOptions{}),
			"Service":    client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{}),
			"Deployment": client.AppsV1().Deployments(namespace).Delete(ctx, name, metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		w.rest()
		w.wantPage("hello")
		d := w.deployment()
		*d.Spec.Replicas = 7
		if _, err := client.AppsV1().Deployments(namespace).Update(ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.rest()
		if got := *w.deployment().Spec.Replicas; got != 1 {
			t.Errorf("%d replicas", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnObjectOfSomebodyElseIsLeftAloneAndReported(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		services := w.Client().CoreV1().Services(namespace)
		if _, err := services.Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, stop := w.start()
		w.create("hello")
		w.wantCondition(metav1.ConditionFalse, "Failed")
		if have, err := services.Get(t.Context(), name, metav1.GetOptions{}); err != nil || have.Spec.Ports[0].Port != 1 {
			t.Errorf("the Service: %v, %v", have, err)
		}
		if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(foreignPause)
		w.rest()
		w.wantPage("hello")
		w.wantCondition(metav1.ConditionFalse, progressing)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestASiteGoesOnlyAfterItsPageWasTakenFromTheRegister(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o, stop := w.start()
		w.create("hello")
		if !o.Register.Has(key) {
			t.Error("not in the register")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := w.sites.Sites(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.rest()
		if w.site().DeletionTimestamp == nil {
			t.Error("not being deleted")
		}
		o, stop = w.start() // another process
		if _, err := w.sites.Sites(namespace).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the site is still there: %v", err)
		}
		if o.Register.Len() != 0 {
			t.Error("still in the register")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestARestartedOperatorWritesNothingThatIsThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, stop := w.start()
		w.create("hello")
		w.serve()
		if err := stop(); err != nil {
			t.Error(err)
		}
		mark := w.Mark()
		_, stop = w.start()
		w.rest()
		if n := w.writes(mark); n != 0 {
			t.Errorf("%d writes after a restart", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestOneOfTwoOperatorsActs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first, stopFirst := w.start()
		second, stopSecond := w.start()
		w.create("hello")
		if !first.Leads() || second.Leads() || second.Status().Reconciles != 0 {
			t.Errorf("first leads: %v; second leads: %v, %d reconciles", first.Leads(), second.Leads(), second.Status().Reconciles)
		}
		for _, o := range []*Operator{first, second} {
			for _, path := range []string{"/healthz", "/readyz"} {
				answer := httptest.NewRecorder()
				o.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
				if answer.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
				}
			}
		}
		if err := stopFirst(); err != nil {
			t.Error(err)
		}
		w.rest()
		if !second.Leads() || second.Status().Reconciles != 1 {
			t.Errorf("second leads: %v, %d reconciles", second.Leads(), second.Status().Reconciles)
		}
		if err := stopSecond(); err != nil && !errors.Is(err, controller.ErrNotLeading) {
			t.Error(err)
		}
	})
}
