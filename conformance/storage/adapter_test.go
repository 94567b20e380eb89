package storage_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	upstream "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/flowcontrol"

	"heliograph.example/apiserver/storage"
)

// prefix begins all keys that the suite uses.
const prefix = "/pods/"

// adapter shows a storage.Interface of ours, holding pods, as upstream's.
type adapter struct {
	ours  storage.Interface
	store *storage.Store
	// watches owns the goroutines that feed the channels of open watches.
	watches *watches
}

var _ upstream.Interface = (*adapter)(nil)

func (a *adapter) Versioner() upstream.Versioner { return upstream.APIObjectVersioner{} }

// keyOf reads the path of one object.
func keyOf(path string) (types.NamespacedName, error) {
	path, err := upstream.PrepareKey(prefix, path, false)
	if err != nil {
		return types.NamespacedName{}, err
	}
	return storage.ParseKey(strings.TrimPrefix(path[len(prefix):], "/")), nil
}

// selectionOf reads the path and the predicate of a list or a watch.
func selectionOf(path string, opts upstream.ListOptions) (storage.Selection, error) {
	sel := storage.Selection{Labels: opts.Predicate.Label, Fields: opts.Predicate.Field}
	path, err := upstream.PrepareKey(prefix, path, opts.Recursive)
	if err != nil {
		return sel, err
	}
	rest := strings.TrimPrefix(path[len(prefix):], "/")
	if opts.Recursive {
		rest = strings.TrimSuffix(rest, "/")
	}
	switch below := strings.Contains(rest, "/"); {
	case opts.Recursive && !below:
		sel.Namespace = rest
	case opts.Recursive, rest == "", strings.HasSuffix(rest, "/"):
		// Nothing is ever below an object, and no object is named like a
		// folder. Ours cannot even ask.
		sel.Fields = fields.Nothing()
	default:
		key := storage.ParseKey(rest)
		sel.Namespace, sel.Name = key.Namespace, key.Name
	}
	return sel, nil
}

func (a *adapter) Get(ctx context.Context, path string, opts upstream.GetOptions, out runtime.Object) error {
	key, err := keyOf(path)
	if err != nil {
		return err
	}
	obj, err := a.ours.Get(ctx, key, opts.ResourceVersion)
	if apierrors.IsNotFound(err) && opts.IgnoreNotFound {
		return runtime.SetZeroValue(out)
	}
	return answer(path, obj, err, out)
}

func (a *adapter) GetList(ctx context.Context, path string, opts upstream.ListOptions, out runtime.Object) error {
	sel, err := selectionOf(path, opts)
	if err != nil {
		return err
	}
	list, err := a.ours.List(ctx, storage.ListOptions{
		Selection:       sel,
		ResourceVersion: opts.ResourceVersion,
		Match:           opts.ResourceVersionMatch,
		Limit:           opts.Predicate.Limit,
		Continue:        opts.Predicate.Continue,
	})
	if err != nil {
		return translate(path, err)
	}
	pods := out.(*example.PodList)
	pods.Items = make([]example.Pod, 0, len(list.Items))
	for _, obj := range list.Items {
		pods.Items = append(pods.Items, *reveal(obj))
	}
	version, err := a.Versioner().ParseResourceVersion(list.ResourceVersion)
	if err != nil {
		return err
	}
	token, err := tokenOf(list.Continue)
	if err != nil {
		return err
	}
	return a.Versioner().UpdateList(pods, version, token, list.Remaining)
}

// tokenOf writes a continue token as the suite compares it, without the slash
// that a genuine server sets before the key, and ours does with it. Both are
// read.
func tokenOf(ours string) (string, error) {
	if ours == "" {
		return "", nil
	}
	key, version, err := upstream.DecodeContinue(ours, "/")
	if err != nil {
		return "", err
	}
	return upstream.EncodeContinue(key, "/", version)
}

func (a *adapter) Create(ctx context.Context, path string, obj, out runtime.Object, _ uint64) error {
	key, err := keyOf(path)
	if err != nil {
		return err
	}
	created, err := a.ours.Create(ctx, key, disguise(key, obj))
	if apierrors.IsBadRequest(err) && strings.HasPrefix(err.Error(), "resourceVersion should not be set") {
		return upstream.ErrResourceVersionSetOnCreate
	}
	return answer(path, created, err, out)
}

func (a *adapter) Delete(ctx context.Context, path string, out runtime.Object, pre *upstream.Preconditions,
	validate upstream.ValidateObjectFunc, _ runtime.Object, _ upstream.DeleteOptions) error {
	key, err := keyOf(path)
	if err != nil {
		return err
	}
	last, err := a.ours.Delete(ctx, key, func(current runtime.Object) error {
		pod := reveal(current)
		if err := pre.Check(path, pod); err != nil {
			return err
		}
		return validate(ctx, pod)
	})
	return answer(path, last, err, out)
}

func (a *adapter) GuaranteedUpdate(ctx context.Context, path string, out runtime.Object, ignoreNotFound bool,
	pre *upstream.Preconditions, try upstream.UpdateFunc, _ runtime.Object) error {
	key, err := keyOf(path)
	if err != nil {
		return err
	}
	exists := false
	change := func(current *example.Pod) (runtime.Object, error) {
		if err := pre.Check(path, current); err != nil {
			return nil, err
		}
		version, err := a.Versioner().ObjectResourceVersion(current)
		if err != nil {
			return nil, err
		}
		updated, _, err := try(current, upstream.ResponseMeta{ResourceVersion: version})
		if err != nil {
			return nil, err
		}
		return disguise(key, updated), nil
	}
	for {
		updated, err := a.ours.Update(ctx, key, func(current runtime.Object) (runtime.Object, bool, error) {
			exists = true
			updated, err := change(reveal(current))
			return updated, false, err
		})
		if exists || !ignoreNotFound || !apierrors.IsNotFound(err) {
			return answer(path, updated, err, out)
		}
		created, err := change(&example.Pod{})
		if err != nil {
			return err
		}
		created = created.DeepCopyObject()
		created.(*example.Pod).ResourceVersion = ""
		created, err = a.ours.Create(ctx, key, created)
		if !apierrors.IsAlreadyExists(err) {
			return answer(path, created, err, out)
		}
	}
}

func (a *adapter) Watch(ctx context.Context, path string, opts upstream.ListOptions) (watch.Interface, error) {
	sel, err := selectionOf(path, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ours, err := a.ours.Watch(ctx, storage.WatchOptions{
		Selection:         sel,
		ResourceVersion:   opts.ResourceVersion,
		SendInitialEvents: opts.SendInitialEvents,
		Bookmarks:         opts.Predicate.AllowWatchBookmarks || opts.ProgressNotify,
	})
	if err != nil {
		cancel()
		return nil, translate(path, err)
	}
	flowcontrol.WatchInitialized(ctx)
	return a.watches.start(ours, cancel), nil
}

func (a *adapter) Stats(context.Context) (upstream.Stats, error) {
	return upstream.Stats{}, errors.New("the storage keeps no statistics")
}

func (a *adapter) ReadinessCheck() error { return nil }

func (a *adapter) RequestWatchProgress(ctx context.Context) error {
	return a.store.RequestProgress(ctx)
}

func (a *adapter) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return a.store.CurrentRevision(ctx)
}

func (a *adapter) EnableResourceSizeEstimation(upstream.KeysFunc) error { return nil }

// CompactRevision is 0 for upstream as long as nothing has been compacted; the
// oldest revision that ours can be asked for is then 1, that of an empty store.
func (a *adapter) CompactRevision() int64 {
	revision, err := a.store.CompactRevision(context.Background())
	if err != nil || revision == 1 {
		return 0
	}
	return int64(revision)
}

// answer fills out with what ours returned. out may be nil.
func answer(path string, obj runtime.Object, err error, out runtime.Object) error {
	if err != nil {
		return translate(path, err)
	}
	if out != nil {
		*out.(*example.Pod) = *reveal(obj)
	}
	return nil
}

// translate turns an error for clients into the one that upstream's registry
// would make it from.
func translate(path string, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsNotFound(err):
		return upstream.NewKeyNotFoundError(path, 0)
	case apierrors.IsAlreadyExists(err):
		return upstream.NewKeyExistsError(path, 0)
	case errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError:
		return upstream.NewInternalError(err)
	}
	return err
}

// identity is the annotation that holds the name of an object which is stored
// under another.
const identity = "conformance.heliograph.example/identity"

// disguise gives obj the name of its key.
func disguise(key types.NamespacedName, obj runtime.Object) runtime.Object {
	pod := obj.(*example.Pod)
	if pod.Name == key.Name && pod.Namespace == key.Namespace {
		return pod
	}
	own := storage.KeyString(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	pod = pod.DeepCopy()
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[identity] = own
	pod.Namespace, pod.Name = key.Namespace, key.Name
	return pod
}

// reveal undoes disguise. What it returns is a copy, because the suite changes
// what it gets, and ours hands out what it keeps.
func reveal(obj runtime.Object) *example.Pod {
	pod, ok := obj.DeepCopyObject().(*example.Pod)
	if !ok {
		panic(fmt.Sprintf("a store of pods returned a %T", obj))
	}
	if own, ok := pod.Annotations[identity]; ok {
		key := storage.ParseKey(own)
		pod.Namespace, pod.Name = key.Namespace, key.Name
		if delete(pod.Annotations, identity); len(pod.Annotations) == 0 {
			pod.Annotations = nil
		}
	}
	return pod
}
