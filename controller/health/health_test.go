package health

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

func get(t *testing.T, query string, checks ...Check) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	Handler(checks...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz"+query, nil))
	return w.Code, w.Body.String()
}

func TestTheAnswerNamesWhatIsNotWell(t *testing.T) {
	well := func() error { return nil }
	ill := func() error { return errors.New("no\n  food") }
	for name, test := range map[string]struct {
		query  string
		checks []Check
		code   int
		body   string
	}{
		"nothing to check": {"", nil, 200, "ok\n"},
		"all well":         {"", []Check{{"a", well}, {"b", well}}, 200, "ok\n"},
		"verbose":          {"?verbose", []Check{{"a", well}, {"b", well}}, 200, "[+] a\n[+] b\nok\n"},
		"one not":          {"", []Check{{"a", well}, {"b", ill}}, 500, "[-] b: no food\n"},
		"verbose, one not": {"?verbose=1", []Check{{"a", well}, {"b", ill}}, 500, "[+] a\n[-] b: no food\n"},
		"no function":      {"", []Check{{"a", nil}}, 500, "[-] a: a check without a function\n"},
		"no name":          {"", []Check{{"", well}}, 500, "[-] : a check without a name\n"},
		"a panic":          {"", []Check{{"a", func() error { panic("oh") }}}, 500, "[-] a: the check panicked: oh\n"},
	} {
		if code, body := get(t, test.query, test.checks...); code != test.code || body != test.body {
			t.Errorf("%s: %d %q", name, code, body)
		}
	}
}

func TestAnInformerThatIsNotSyncedIsNamedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		server.Break(fault.Fault{Resource: schema.GroupResource{Resource: "pods"}, Code: http.StatusForbidden, Times: 1000})
		factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods, err := informer.For(t.Context(), factory, informer.Options[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		check := Check{"caches", Synced(pods)}
		if code, body := get(t, "", check); code != 500 || !strings.Contains(body, "pods") {
			t.Errorf("before the start: %d %q", code, body)
		}
		factory.Start(t.Context())
		defer factory.Stop()
		synctest.Wait()
		if code, body := get(t, "", check); code != 500 || !strings.Contains(body, "forbidden") {
			t.Errorf("not synced: %d %q", code, body)
		}
	})
}

func TestAnInformerThatWasSyncedAndHasStoppedIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods, err := informer.For(t.Context(), factory, informer.Options[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		handler := informer.HandlerFunc[*corev1.Pod](func(context.Context, informer.Change[*corev1.Pod]) {})
		registration, err := pods.Handle(handler, informer.HandlerOptions[*corev1.Pod]{Name: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		checks := map[string]Check{
			"pods: stopped": {"an informer", Synced(pods)}, "handler mine": {"a handler", Synced(registration)},
			"pods: stopped: ": {"a factory", Synced(factory)},
		}
		expect := func(code int) {
			t.Helper()
			synctest.Wait()
			for words, check := range checks {
				if got, body := get(t, "", check); got != code || code == 500 && !strings.Contains(body, words) {
					t.Errorf("%s: %d %q", check.Name, got, body)
				}
			}
		}
		for range 2 {
			factory.Start(t.Context())
			expect(200)
			factory.Stop()
			expect(500)
		}
	})
}

func TestANilInformerIsNotWell(t *testing.T) {
	for name, w := range map[string]informer.Waiter{
		"nothing": nil, "informer": (*informer.Informer[*corev1.Pod])(nil), "factory": (*informer.Factory)(nil),
		"registration": (*informer.Registration)(nil),
	} {
		if err := Synced(w)(); !errors.Is(err, informer.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
