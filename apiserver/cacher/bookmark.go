package cacher

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"heliograph.example/apiserver/storage"
)

func (w *watcher) nextBookmark(now time.Time) time.Time {
	deadline, _ := w.ctx.Deadline()
	return storage.NextBookmark(now, deadline)
}

// tellBookmark tells a bookmark if one is due. The watcher has been told
// everything up to revision. If that is nothing new, the version may still have
// moved for other resources without the cache knowing: then the store is asked,
// and the bookmark goes out a little later. If that is nothing new either, the
// last version is told once more, as kube-apiserver does, unless it is the one
// that the watch began with.
func (w *watcher) tellBookmark(revision uint64) (bool, error) {
	if !w.bookmarks {
		return false, nil
	}
	now := time.Now()
	if now.Before(w.due) {
		return false, nil
	}
	if revision > w.told {
		return true, w.bookmark(revision, false)
	}
	if w.asked && w.told > w.began {
		return true, w.bookmark(w.told, false)
	}
	if w.asked {
		w.asked, w.due = false, w.nextBookmark(now)
		return false, nil
	}
	w.asked, w.due = true, now.Add(progressGrace)
	return false, w.cache.store.RequestProgress(w.ctx)
}

func (w *watcher) bookmark(version uint64, initialEnd bool) error {
	event, err := storage.NewBookmark(w.cache.of.NewFunc(), version, initialEnd)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	w.room.events = append(w.room.events, event)
	w.told, w.asked, w.due = version, false, w.nextBookmark(time.Now())
	return nil
}
