package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/reflector"
)

func TestConnectionsCutInMidStreamLoseNothingAndListNothing(t *testing.T) {
	t.Parallel()
	const (
		namespace = "cut"
		writes    = 1400
		cuts      = 6
	)
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 200)
	l := newLine(t, protobufConfig())
	s := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	l.start(t)
	theirs := newRival(t, l, namespace)
	var cutting sync.Mutex // several goroutines write
	histories := shakeAnd(t, namespace, []subject{s}, 301, writes, func(n int) error {
		if n%(writes/(cuts+1)) != 0 || n == writes {
			return nil
		}
		cutting.Lock()
		defer cutting.Unlock()
		return l.cut(t.Context(), s)
	})
	proved(t, s)
	if err := s.judge(histories[configMaps.plural]); err != nil {
		t.Error(err)
	}
	if r := s.status().Reader; r.Watches < cuts {
		t.Errorf("%d watches for %d cuts", r.Watches, cuts)
	}
	// One for each cut; more where a busy server ends one that it finds slow.
	l.listedOnce(t, s, 3*cuts)
	theirs.tell(t, namespace, s.version(sentinel))
}

func TestAStreamingListCutInTheMiddleShowsNothingAndIsStreamedAgain(t *testing.T) {
	t.Parallel()
	fillLoad(t)
	l := newLine(t, protobufConfig())
	s := mapsIn(t, l.factory, loadNamespace, reflector.Options[*corev1.ConfigMap]{})
	const cuts = 2
	broken, shown := 0, 0
	cancel := s.informer.Subscribe(func(r reflector.Status) {
		if r.State == reflector.BackingOff {
			broken++
			shown += s.informer.Store().Len() + s.handlers[0].Len()
		}
	})
	l.proxy.CutAfter(cuts, 1<<20) // of about six
	l.start(t)
	cancel()
	if broken != cuts || shown != 0 {
		t.Errorf("%d lists broke off, want %d, and %d objects of them were shown, want none", broken, cuts, shown)
	}
	proved(t, s)
	y := count(t, l.agent, configMaps.plural)
	if y.streams != cuts+1 || y.lists != 0 {
		t.Errorf("the server was asked for %v, want %d streaming lists and no other", y, cuts+1)
	}
	if r := s.status().Reader; r.Fallback != "" {
		t.Errorf("two broken streams led to %q", r.Fallback)
	}
}

func TestASlowSyncThatAdvancesIsNotGivenUp(t *testing.T) {
	t.Parallel()
	const (
		namespace = "slow"
		limit     = time.Second
	)
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 1000)
	l := newLine(t, protobufConfig())
	s := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{StreamingTimeout: limit})
	l.proxy.Pause(80 * time.Millisecond)
	l.start(t)
	if took := s.status().Reader.LastList.Took; took < 2*limit {
		t.Errorf("the sync took %v: that proves nothing about a limit of %v", took, limit)
	} else {
		t.Logf("the sync took %v, with a limit of %v for its pauses", took.Round(time.Millisecond), limit)
	}
	l.proxy.Pause(20 * time.Millisecond)
	histories := shake(t, namespace, []subject{s}, 303, 400)
	proved(t, s)
	if err := s.judge(histories[configMaps.plural]); err != nil {
		t.Error(err)
	}
	l.listedOnce(t, s, 3)
}

// TestAForgottenConnectionIsNoticedByPings is about HTTP/2, where the transport
// asks a silent server for a sign of life, by default after 30 seconds and for 15.
func TestAForgottenConnectionIsNoticedByPings(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "2")
	config := protobufConfig()
	// What is the default anyway makes a transport that nobody has made before.
	config.NextProtos = []string{"h2", "http/1.1"}
	forgotten(t, config, "forgotten-h2", reflector.Options[*corev1.ConfigMap]{}, afterWatches(0), "client connection lost")
}

// TestAForgottenConnectionIsNoticedByItsDeadline is about HTTP/1.1, where nothing
// but the end of the time that was asked for tells.
func TestAForgottenConnectionIsNoticedByItsDeadline(t *testing.T) {
	t.Parallel()
	options := reflector.Options[*corev1.ConfigMap]{WatchTimeout: 5 * time.Second}
	forgotten(t, http1(), "forgotten-h1", options, afterWatches(1), "did not end the watch when it was due")
}

// TestAWatchThatIsSilentSinceAnOutageIsReplacedSoon is about the silence alarm.
// Regular bookmarks arm it, which take minutes to come, and so does an outage.
func TestAWatchThatIsSilentSinceAnOutageIsReplacedSoon(t *testing.T) {
	t.Parallel()
	options := reflector.Options[*corev1.ConfigMap]{SilenceTimeout: 3 * time.Second}
	s := forgotten(t, http1(), "forgotten-anew", options, afterCut, "the watch has become silent")
	if r := s.status().Reader; r.Silences != 1 || r.Proofs != 1 {
		t.Errorf("the reader counts %d silences and %d proofs of the version, want one of each", r.Silences, r.Proofs)
	}
}

// http1 is a configuration for HTTP/1.1, in which nobody pings.
func http1() *rest.Config {
	config := protobufConfig()
	config.NextProtos = []string{"http/1.1"}
	return config
}

// afterWatches waits until a reader has opened so many watches beside its streaming
// list, and is told of the newest write.
func afterWatches(watches uint64) func(*testing.T, *line, *informed[*corev1.ConfigMap]) {
	return func(t *testing.T, l *line, s *informed[*corev1.ConfigMap]) {
		eventually(t, s.informer.Name(), func() error {
			if r := s.status().Reader; r.Watches < watches || r.State != reflector.Watching {
				return fmt.Errorf("not yet at watch %d: %v", watches, r)
			}
			return nil
		})
		finish(t, client(t, protobufConfig()), s.scope.Namespace, []subject{s})
	}
}

// afterCut breaks the connections, and waits until the server has answered the
// watch that follows, which there is nothing to tell of.
func afterCut(t *testing.T, l *line, s *informed[*corev1.ConfigMap]) {
	if err := l.cut(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	eventually(t, s.informer.Name(), func() error {
		if r := s.status().Reader; r.State != reflector.Watching || !r.LastHeard.After(r.LastErrorAt) {
			return fmt.Errorf("no answer since the cut: %v", r)
		}
		return nil
	})
}

// forgotten lets the connections fall silent while a subject watches, and wants it
// to find out, for a reason that an error names.
func forgotten(t *testing.T, config *rest.Config, namespace string, options reflector.Options[*corev1.ConfigMap],
	watching func(*testing.T, *line, *informed[*corev1.ConfigMap]), reason string) *informed[*corev1.ConfigMap] {
	t.Helper()
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 100)
	l := newLine(t, config)
	s := mapsIn(t, l.factory, namespace, options)
	l.start(t)
	theirs := newRival(t, l, namespace)
	watching(t, l, s)
	if n := l.proxy.Forget(); n == 0 {
		t.Fatal("no connection is open")
	}
	began := time.Now()
	shake(t, namespace, []subject{s}, 304, 200)
	t.Logf("the silence was noticed after %v at most", time.Since(began).Round(time.Millisecond))
	proved(t, s)
	l.listedOnce(t, s, 6)
	if !strings.Contains(s.diary.String(), reason) {
		t.Errorf("no error says %q", reason)
	}
	theirs.tell(t, namespace, s.version(sentinel))
	return s
}
