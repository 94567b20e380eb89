package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// errOneWatch ends a run in which the informer under test watched twice: the
// second watch would miss events.
var errOneWatch = errors.New("the collection can be watched once only")

// channelFeed is a ListerWatcher whose watch is a channel without a buffer, as
// that of client-go's StreamWatcher is. It streams the initial list.
type channelFeed struct {
	load     *load
	delivery *delivery
	events   chan watch.Event
	once     sync.Once
}

func newChannelFeed(l *load, d *delivery) *channelFeed {
	return &channelFeed{load: l, delivery: d, events: make(chan watch.Event)}
}

func (c *channelFeed) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return nil, errors.New("this collection is streamed, not listed")
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			err := errOneWatch
			c.once.Do(func() {
				err = nil
				go c.sendInitial(ctx)
			})
			return watch.NewProxyWatcher(c.events), err
		},
	}
}

func (c *channelFeed) sendInitial(ctx context.Context) {
	for _, p := range c.load.initial {
		if c.send(ctx, watch.Event{Type: watch.Added, Object: p}) != nil {
			return
		}
	}
	// Nobody waits for the bookmark but the informer, which does not sync
	// without it.
	_ = c.send(ctx, watch.Event{Type: watch.Bookmark, Object: initialEventsEnd(len(c.load.initial))})
}

// initialEventsEnd is the object of the bookmark that ends a streaming list.
func initialEventsEnd(pods int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(pods),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

func (c *channelFeed) send(ctx context.Context, e watch.Event) error {
	select {
	case c.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *channelFeed) feed(ctx context.Context, from, to int) error {
	return c.sendAll(ctx, from, to, c.load.event)
}

func (c *channelFeed) sendAll(ctx context.Context, from, to int, event func(i int) *corev1.Pod) error {
	for i := from; i < to; i++ {
		if i%stage == 0 {
			if err := c.delivery.await(ctx, i+stage-window); err != nil {
				return err
			}
		}
		if err := c.send(ctx, watch.Event{Type: watch.Modified, Object: event(i)}); err != nil {
			return err
		}
	}
	return nil
}

// batchFeed is a source of Heliograph that hands over batches of events, as one
// does that has decoded several frames.
type batchFeed struct {
	load     *load
	delivery *delivery
	// batch is what the stream hands over, again and again.
	batch []reflector.Event[*corev1.Pod]
	once  sync.Once
	// ranges says which events may be sent.
	ranges chan [2]int
}

func newBatchFeed(l *load, d *delivery, size int) *batchFeed {
	return &batchFeed{load: l, delivery: d, batch: make([]reflector.Event[*corev1.Pod], size), ranges: make(chan [2]int, 1)}
}

func itemOf(p *corev1.Pod) reflector.Item[*corev1.Pod] {
	return reflector.Item[*corev1.Pod]{
		Key: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, Version: p.ResourceVersion, Object: p,
	}
}

// Streamless says that the collection is listed: initial events would need
// batches of another kind.
func (b *batchFeed) Streamless() bool { return true }

// List returns the whole collection as one page.
func (b *batchFeed) List(_ context.Context, _ metav1.ListOptions, each func(reflector.Item[*corev1.Pod]) error) (reflector.Page, error) {
	for _, p := range b.load.initial {
		if err := each(itemOf(p)); err != nil {
			return reflector.Page{}, err
		}
	}
	return reflector.Page{Version: strconv.Itoa(len(b.load.initial))}, nil
}

// Watch opens the one stream.
func (b *batchFeed) Watch(ctx context.Context, _ metav1.ListOptions) (reflector.Stream[*corev1.Pod], error) {
	err := errOneWatch
	var s *batchStream
	b.once.Do(func() {
		ctx, cancel := context.WithCancel(ctx)
		s, err = &batchStream{feed: b, ctx: ctx, cancel: cancel}, nil
	})
	return s, err
}

// feed lets the stream send. The stream itself keeps to the window.
func (b *batchFeed) feed(ctx context.Context, from, to int) error {
	select {
	case b.ranges <- [2]int{from, to}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type batchStream struct {
	feed     *batchFeed
	ctx      context.Context
	cancel   context.CancelFunc
	from, to int
}

// Next returns the next batch. Batches end where a range does.
func (s *batchStream) Next() ([]reflector.Event[*corev1.Pod], error) {
	if s.from == s.to {
		select {
		case r := <-s.feed.ranges:
			s.from, s.to = r[0], r[1]
		case <-s.ctx.Done():
			return nil, io.EOF
		}
	}
	if s.from%stage == 0 {
		if err := s.feed.delivery.await(s.ctx, s.from+stage-window); err != nil {
			return nil, err
		}
	}
	batch := s.feed.batch[:min(len(s.feed.batch), s.to-s.from)]
	for n := range batch {
		batch[n] = reflector.Event[*corev1.Pod]{Type: deltafifo.Updated, Item: itemOf(s.feed.load.event(s.from))}
		s.from++
	}
	return batch, nil
}

// Stop ends the stream.
func (s *batchStream) Stop() { s.cancel() }
