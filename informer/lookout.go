package informer

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"

	"heliograph.example/reflector"
)

const (
	// A factory looks for what is not served after these pauses.
	minLook, maxLook = 5 * time.Second, time.Minute
	// maxLooks bounds the requests of one look.
	maxLooks = 16
)

// member is an informer of a factory, with the resource that it reads.
type member struct {
	sharedInformer
	resource schema.GroupVersionResource
}

// lookout asks the discovery of the server for the resources of informers that
// are not served, and nudges those that are there again. It does nothing while
// all are served: one request for each group and version is spared to as many
// informers as there are of it. It belongs to one Start.
type lookout struct {
	discovery *discovery.DiscoveryClient
	members   []member
	// missing holds a token once a member is not served.
	missing chan struct{}
}

func newLookout(d *discovery.DiscoveryClient, members []member) *lookout {
	return &lookout{discovery: d, members: members, missing: make(chan struct{}, 1)}
}

// run looks out until ctx ends.
func (l *lookout) run(ctx context.Context) {
	for _, m := range l.members {
		cancel := m.subscribe(func(s reflector.Status) {
			if s.State != reflector.NotServed {
				return
			}
			select {
			case l.missing <- struct{}{}:
			default:
			}
		})
		defer cancel()
	}
	if len(l.notServed()) > 0 {
		l.look(ctx) // it was told before anybody listened
	}
	for {
		select {
		case <-l.missing:
			l.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look asks until everything is served.
func (l *lookout) look(ctx context.Context) {
	pause, next := minLook, 0
	var before []schema.GroupVersion
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		missing := l.notServed()
		if len(missing) == 0 {
			return
		}
		isNew := func(gv schema.GroupVersion) bool { return !slices.Contains(before, gv) }
		if pause = min(2*pause, maxLook); slices.ContainsFunc(missing, isNew) {
			pause = minLook
		}
		before = missing
		for range min(len(missing), maxLooks) {
			l.ask(ctx, missing[next%len(missing)])
			next++
		}
		timer.Reset(pause)
	}
}

// notServed returns the groups and versions that members wait for, each once and
// in the order of the members.
func (l *lookout) notServed() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, m := range l.members {
		if gv := m.resource.GroupVersion(); m.readerState() == reflector.NotServed && !slices.Contains(out, gv) {
			out = append(out, gv)
		}
	}
	return out
}

// ask nudges the members that wait for what the server has of gv.
func (l *lookout) ask(ctx context.Context, gv schema.GroupVersion) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := l.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil {
		// If it is not merely not there yet, a resource that comes is noticed by
		// its reader's own tries.
		if !apierrors.IsNotFound(err) && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Discovery failed", "groupVersion", gv, "err", err)
		}
		return
	}
	for _, m := range l.members {
		if m.resource.GroupVersion() != gv || m.readerState() != reflector.NotServed {
			continue
		}
		for _, r := range list.APIResources {
			if r.Name == m.resource.Resource {
				m.Nudge()
			}
		}
	}
}

// subscribe tells f of each change of the state of the reader.
func (i *Informer[T]) subscribe(f func(reflector.Status)) (cancel func()) {
	return i.reflector.Subscribe(f)
}

// readerState is what the reader is doing.
func (i *Informer[T]) readerState() reflector.State { return i.reflector.Status().State }
