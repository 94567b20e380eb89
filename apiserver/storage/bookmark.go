package storage

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// kube-apiserver sends a bookmark about once a minute, and one more shortly
// before it ends a watch, so that the client resumes from a fresh version.
const (
	bookmarkPeriod = time.Minute
	bookmarkLead   = 2 * time.Second
)

// NextBookmark returns when a watch whose context has the given deadline (zero
// for none) is due for its next bookmark.
func NextBookmark(now, deadline time.Time) time.Time {
	due := now.Add(bookmarkPeriod)
	if last := deadline.Add(-bookmarkLead); !deadline.IsZero() && last.After(now) && last.Before(due) {
		return last
	}
	return due
}

// NewBookmark makes a bookmark event: obj, which must be empty and the caller's
// own, with a resource version, and the annotation that ends initial events if
// initialEnd is true.
func NewBookmark(obj runtime.Object, version uint64, initialEnd bool) (Event, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return Event{}, fmt.Errorf("bookmark: %w", err)
	}
	m.SetResourceVersion(formatVersion(version))
	if initialEnd {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return Event{Type: watch.Bookmark, Object: obj}, nil
}
