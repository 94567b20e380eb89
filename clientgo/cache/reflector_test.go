package cache

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	_ "heliograph.example/apiserver/apiservertest" // lets errors be reported in a bubble
)

// script is a server whose watches do what a test says.
type script struct {
	lists, watches, streams int
	// watch says what the n-th watch from 1 on is; nil is one that stays open.
	watch func(n int) (watch.Interface, error)
	// stream is the same for streaming lists.
	stream func() (watch.Interface, error)
}

func (s *script) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.lists++
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
}

func (s *script) WatchWithContext(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if opts.SendInitialEvents != nil {
		s.streams++
		return s.stream()
	}
	s.watches++
	w, err := s.watch(s.watches)
	if w == nil && err == nil {
		w = watch.NewFake()
	}
	return w, err
}

func (s *script) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

func (s *script) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

func (s *script) IsWatchListSemanticsUnSupported() bool { return s.stream == nil }

// reflectFor runs a Reflector for some time.
func reflectFor(t *testing.T, s *script, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	NewReflector(s, &corev1.ConfigMap{}, NewStore(MetaNamespaceKeyFunc), 0).RunWithContext(ctx)
	synctest.Wait()
}

// closed is a watch that has ended.
func closed() watch.Interface {
	w := watch.NewFake()
	w.Stop()
	return w
}

// broken is a watch that ends with an error event.
func broken(err *apierrors.StatusError) watch.Interface {
	w := watch.NewFakeWithChanSize(1, false)
	w.Error(&err.ErrStatus)
	w.Stop()
	return w
}

func TestAReflectorResumesItsWatchAndListsOnlyAfterAGap(t *testing.T) {
	for name, test := range map[string]struct {
		watch func() (watch.Interface, error)
		lists int
	}{
		"end of file":    {func() (watch.Interface, error) { return nil, io.ErrUnexpectedEOF }, 1},
		"internal error": {func() (watch.Interface, error) { return nil, apierrors.NewInternalError(io.EOF) }, 1},
		"closed at once": {func() (watch.Interface, error) { return closed(), nil }, 1},
		"broken":         {func() (watch.Interface, error) { return broken(apierrors.NewInternalError(io.EOF)), nil }, 1},
		"expired":        {func() (watch.Interface, error) { return nil, apierrors.NewResourceExpired("gone") }, 4},
		"expired event":  {func() (watch.Interface, error) { return broken(apierrors.NewResourceExpired("gone")), nil }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{watch: func(n int) (watch.Interface, error) {
					if n <= 3 {
						return test.watch()
					}
					return nil, nil
				}}
				reflectFor(t, s, 5*time.Minute)
				if s.lists != test.lists || s.watches != 4 {
					t.Errorf("%d lists, %d watches", s.lists, s.watches)
				}
			})
		})
	}
}

func TestAWatchThatNeverBringsAnythingIsListedInTheEndAndPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{watch: func(int) (watch.Interface, error) { return closed(), nil }}
		reflectFor(t, s, time.Hour)
		if s.lists < 2 || s.lists*(mostResumptions+1) > s.watches+mostResumptions+1 || s.watches > 400 {
			t.Errorf("%d lists, %d watches in an hour", s.lists, s.watches)
		}
	})
}

func TestAStreamingListThatStallsOrBreaksOffIsFollowedByAList(t *testing.T) {
	for name, stream := range map[string]func() (watch.Interface, error){
		"stalls":     func() (watch.Interface, error) { return watch.NewFake(), nil },
		"breaks off": func() (watch.Interface, error) { return closed(), nil },
		"is busy": func() (watch.Interface, error) {
			return broken(apierrors.NewTooManyRequests("later", 1)), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{stream: stream, watch: func(int) (watch.Interface, error) { return nil, nil }}
				reflectFor(t, s, 11*time.Second)
				if s.streams != 1 || s.lists != 1 || s.watches != 1 {
					t.Errorf("%d streaming lists, %d lists, %d watches", s.streams, s.lists, s.watches)
				}
			})
		})
	}
}

func TestAReflectorThatWaitsForABusyServerEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{stream: func() (watch.Interface, error) {
			return nil, apierrors.NewTooManyRequests("later", 3600)
		}}
		began := time.Now()
		reflectFor(t, s, time.Minute)
		if took := time.Since(began); took != time.Minute || s.streams != 1 {
			t.Errorf("ended after %v, %d streaming lists", took, s.streams)
		}
	})
}

func TestAReflectorOfNothingSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReflector(nil, nil, NewStore(MetaNamespaceKeyFunc), 0)
		if err := r.ListAndWatchWithContext(t.Context()); !errors.Is(err, errNilListerWatcher) {
			t.Errorf("ListAndWatch: %v", err)
		}
	})
}
