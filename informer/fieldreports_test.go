package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// fieldReport is one public bug report of somebody who runs informers, played
// against our server and informer in virtual time. The numbers are ours: each
// stands for one report and those that say the same.
type fieldReport struct {
	number int
	// symptom is what the user saw. Each row shows that ours does not.
	symptom string

	options informer.Options[*corev1.ConfigMap]
	handler informer.HandlerOptions[*corev1.ConfigMap]
	server  apiserver.Options
	// faults strike the requests of the informer, from the first.
	faults []fault.Fault
	// objects are there before the informer starts, each with the value 1; nil
	// means a, b and c.
	objects []string
	// before happens before the informer starts, play after it. Without a
	// play, the informer has to be synced.
	before, play func(t *testing.T, s *stage)

	// requests are those of the informer for ConfigMaps, in order, equal ones
	// that follow each other as one with their number: "3 stream, 1 list".
	requests string
	// pauses are those between the requests, as many as are given.
	pauses []span
	// told are the changes that the handler was told of, in order for each
	// object; nil is not compared, beyond that they have to add up to the state
	// of the server.
	told []string
}

// span is the least and the most that a pause may be.
type span [2]time.Duration

func exactly(d time.Duration) span { return span{d, d} }

// backoff is the nth pause of the default back-off, from 0.
func backoff(n int) span {
	d := 800 * time.Millisecond << n
	return span{d, d + d/2}
}

// quarter is the pause after a streaming list that broke off.
func quarter(s span) span { return span{s[0] / 4, s[1] / 4} }

func (s span) plus(d time.Duration) span { return span{s[0] + d, s[1] + d} }

// reported are the rows of all areas.
var reported = slices.Concat(reportsOfTheFirstState, reportsOfWatches, reportsOfRelists, reportsOfHandlers)

func TestFieldReports(t *testing.T) {
	for _, r := range reported {
		t.Run(fmt.Sprint(r.number, " ", r.symptom), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStage(t, &r).run(&r) })
		})
	}
}

const (
	reportAgent = "field-report"
	namespace   = "a"
)

var configMapsResource = schema.GroupResource{Resource: "configmaps"}

// stage is a server with an informer of its ConfigMaps.
type stage struct {
	*apiservertest.Server
	*actor
	t        *testing.T
	factory  *informer.Factory
	informer *informer.Informer[*corev1.ConfigMap]
	handler  *informer.Registration
	started  time.Time
}

func newStage(t *testing.T, r *fieldReport) *stage {
	t.Helper()
	s := &stage{t: t, actor: &actor{at: map[string]string{}}, Server: apiservertest.Start(t, r.server)}
	if r.objects == nil {
		r.objects = []string{"a", "b", "c"}
	}
	for _, name := range r.objects {
		s.set(name, "1")
	}
	for _, f := range r.faults {
		s.strike(f)
	}
	if r.before != nil {
		r.before(t, s)
	}
	config := s.Config()
	config.UserAgent = reportAgent
	var err error
	if s.factory, err = informer.NewFactory(config, informer.FactoryOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.informer, err = informer.For(t.Context(), s.factory, r.options); err != nil {
		t.Fatal(err)
	}
	if s.handler, err = s.informer.Handle(s.actor, r.handler); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) run(r *fieldReport) {
	s.t.Helper()
	s.started = time.Now()
	s.factory.Start(s.t.Context())
	defer s.factory.Stop()
	if r.play == nil {
		s.synced()
	} else {
		r.play(s.t, s)
	}
	synctest.Wait()
	s.compare(r)
	// A watch is stable after ten seconds.
	time.Sleep(15 * time.Second)
	s.mirrored()
	if left := s.Faults.Unstruck(); len(left) > 0 {
		s.t.Errorf("faults that have not struck: %+v", left)
	}
	if s.t.Failed() {
		s.t.Log(s.informer.Status())
	}
}

// compare expects the requests, the pauses between them and the changes told to
// be those of a row.
func (s *stage) compare(r *fieldReport) {
	s.t.Helper()
	log := s.asked()
	if got := inShort(log); r.requests != "" && got != r.requests {
		s.t.Errorf("the server was asked for %s, want %s", got, r.requests)
	}
	for n, want := range r.pauses {
		if n+1 >= len(log) {
			s.t.Errorf("there is no pause %d", n)
			break
		}
		if got := log[n+1].Time.Sub(log[n].Time); got < want[0] || got > want[1] {
			s.t.Errorf("pause %d is %v, want %v to %v", n, got, want[0], want[1])
		}
	}
	if got, want := byName(s.log()), byName(r.told); r.told != nil && !slices.Equal(got, want) {
		s.t.Errorf("the handler was told %q, want %q", got, want)
	}
}

// byName sorts changes by the name of their object. What a list brings comes in no
// order of names, and in the right order for each of them.
func byName(told []string) []string {
	told = slices.Clone(told)
	name := func(s string) string {
		s, _, _ = strings.Cut(s[strings.IndexByte(s, ' ')+1:], "=")
		return s
	}
	slices.SortStableFunc(told, func(a, b string) int { return strings.Compare(name(a), name(b)) })
	return told
}

// mirrored expects the informer to be at work, and its store and what the handler
// was told to be the state of the server.
func (s *stage) mirrored() {
	s.t.Helper()
	if st := s.informer.Status().Reader; st.State != reflector.Watching || st.Tries != 0 {
		s.t.Errorf("in the end: %v, %d tries", st, st.Tries)
	}
	list, err := s.Client().CoreV1().ConfigMaps("").List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for i := range list.Items {
		want[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	for m := range s.informer.Store().All() {
		got[m.Name] = m.ResourceVersion
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("the store has %v, the server %v", got, want)
	}
	if told := s.state(); !maps.Equal(told, want) {
		s.t.Errorf("the handler was told of %v, the server has %v", told, want)
	}
}

// strike adds a fault for the informer alone.
func (s *stage) strike(f fault.Fault) {
	s.t.Helper()
	f.Client = reportAgent
	s.Break(f)
}

// set creates or updates an object, and returns its version.
func (s *stage) set(name, value string) string {
	s.t.Helper()
	client := s.Client().CoreV1().ConfigMaps(namespace)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	var err error
	if value == "1" {
		m, err = client.Create(s.t.Context(), m, metav1.CreateOptions{})
	} else {
		m, err = client.Update(s.t.Context(), m, metav1.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return m.ResourceVersion
}

func (s *stage) remove(name string) {
	s.t.Helper()
	if err := s.Client().CoreV1().ConfigMaps(namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// secret writes something else, and returns the version.
func (s *stage) secret(name string) string {
	s.t.Helper()
	m, err := s.Client().CoreV1().Secrets(namespace).Create(s.t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return m.ResourceVersion
}

func (s *stage) compact() {
	s.t.Helper()
	if err := s.Compact(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// gap lets things happen of which no watch can tell any more: the informer has
// lost its watch, and cannot have another before the history is gone. That is one
// watch that is refused and one that has expired.
func (s *stage) gap(happen func()) {
	s.t.Helper()
	time.Sleep(time.Minute)
	s.strike(fault.Fault{Verb: "watch", Times: 1, Code: 503})
	s.DropWatches(configMapsResource)
	synctest.Wait()
	happen()
	s.compact()
	time.Sleep(30 * time.Second)
	synctest.Wait()
}

// synced waits until the informer and its handler are.
func (s *stage) synced() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	defer cancel()
	if err := s.informer.Wait(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// syncedWithin expects that after a span since the start.
func (s *stage) syncedWithin(want span) {
	s.t.Helper()
	s.synced()
	if d := time.Since(s.started); d < want[0] || d > want[1] {
		s.t.Errorf("synced after %v, want %v to %v", d, want[0], want[1])
	}
}

// asked returns the requests of the informer.
func (s *stage) asked() apiservertest.Log { return s.Log().Agent(reportAgent).Resource("configmaps") }

// inShort names requests: stream for a streaming list, list for each page of a
// list, read for one object by its name, and watch.
func inShort(log apiservertest.Log) string {
	var out []string
	count, last := 0, ""
	flush := func() {
		if count > 0 {
			out = append(out, fmt.Sprint(count, " ", last))
		}
		count = 0
	}
	for i := range log {
		name := log[i].Verb
		switch {
		case name == "watch" && len(log[i:i+1].Lists()) == 1:
			name = "stream"
		case strings.Contains(log[i].Query, "fieldSelector=metadata.name"):
			name = "read"
		}
		if name != last {
			flush()
		}
		count, last = count+1, name
	}
	flush()
	return strings.Join(out, ", ")
}

// actor is the handler: it notes what it is told.
type actor struct {
	mu   sync.Mutex
	told []string
	at   map[string]string // versions by name
	gate chan struct{}     // while it is open, the handler goes on
}

// Handle implements [informer.Handler].
func (a *actor) Handle(ctx context.Context, c informer.Change[*corev1.ConfigMap]) {
	a.mu.Lock()
	gate := a.gate
	a.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	what := fmt.Sprintf("%v %s=%s", c.Type, c.Key.Name, c.Object().Data["v"])
	if c.FinalStateUnknown {
		what += " unseen"
	}
	if c.Resync {
		what += " resync"
	}
	a.told = append(a.told, what)
	if a.at[c.Key.Name] = c.Version; c.Type == informer.Deleted {
		delete(a.at, c.Key.Name)
	}
}

// hold keeps the handler in its next call until release.
func (a *actor) hold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gate = make(chan struct{})
}

func (a *actor) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.gate)
}

func (a *actor) log() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.told)
}

// since returns what was told after the first n.
func (a *actor) since(n int) []string { return a.log()[n:] }

func (a *actor) state() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.at)
}
