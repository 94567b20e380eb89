package storage

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// StoreOptions describe the resource that a [Store] keeps.
type StoreOptions struct {
	// GroupResource names the resource in errors and keys. The resource is
	// required.
	GroupResource schema.GroupResource
	// Prefix begins all keys of the resource and ends with a slash. Empty
	// means /<group>/<resource>/, with "core" for the empty group.
	Prefix string
	// Codec turns objects into the bytes that are kept, and back. Required.
	// Equal objects must give equal bytes, or every write counts as a change.
	Codec runtime.Codec
	// NewFunc makes an empty object to decode into. It is also what a
	// bookmark tells, so unstructured objects must have their kind. Required.
	NewFunc func() runtime.Object
	// Attributes returns what selectors look at. Nil means
	// [MetadataAttributes].
	Attributes AttributesFunc
}

// Store keeps the objects of one resource in a [Backend]. It implements
// [Interface] without any cache: each read decodes what the backend holds. It
// is safe for use by several goroutines.
type Store struct {
	opts    StoreOptions
	backend Backend
	prefix  string
}

var _ Interface = (*Store)(nil)

// NewStore returns a store over backend. Many stores may share one backend and
// thereby one counter of resource versions.
func NewStore(backend Backend, opts StoreOptions) (*Store, error) {
	gr := opts.GroupResource
	if opts.Prefix == "" {
		group := gr.Group
		if group == "" {
			group = "core"
		}
		opts.Prefix = "/" + group + "/" + gr.Resource + "/"
	}
	if opts.Attributes == nil {
		opts.Attributes = MetadataAttributes
	}
	switch {
	case backend == nil:
		return nil, fmt.Errorf("%w: %s: no backend", ErrInvalidOptions, gr)
	case gr.Resource == "":
		return nil, fmt.Errorf("%w: no resource", ErrInvalidOptions)
	case !strings.HasSuffix(opts.Prefix, "/"):
		return nil, fmt.Errorf("%w: %s: prefix %q does not end with a slash", ErrInvalidOptions, gr, opts.Prefix)
	case opts.Codec == nil:
		return nil, fmt.Errorf("%w: %s: no codec", ErrInvalidOptions, gr)
	case opts.NewFunc == nil:
		return nil, fmt.Errorf("%w: %s: no function for new objects", ErrInvalidOptions, gr)
	}
	return &Store{opts: opts, backend: backend, prefix: opts.Prefix}, nil
}

// Options returns the options of the store, with defaults filled in.
func (s *Store) Options() StoreOptions { return s.opts }

// CurrentRevision is the newest resource version of the backend, over all
// resources.
func (s *Store) CurrentRevision(ctx context.Context) (uint64, error) {
	return s.backend.CurrentRevision(ctx)
}

// CompactRevision is the oldest resource version that can be listed.
func (s *Store) CompactRevision(ctx context.Context) (uint64, error) {
	return s.backend.CompactRevision(ctx)
}

// RequestProgress makes open watches of all namespaces that permit bookmarks
// tell one, as soon as they have told everything before it, unless the version
// has not moved.
func (s *Store) RequestProgress(ctx context.Context) error {
	return s.backend.RequestProgress(ctx, s.prefix)
}

// Get implements [Interface].
func (s *Store) Get(ctx context.Context, key types.NamespacedName, resourceVersion string) (runtime.Object, error) {
	version, err := ParseVersion(resourceVersion)
	if err != nil {
		return nil, err
	}
	if err := s.reached(ctx, version); err != nil {
		return nil, err
	}
	obj, _, err := s.load(ctx, key)
	return obj, err
}

// reached fails if the backend has not come as far as version.
func (s *Store) reached(ctx context.Context, version uint64) error {
	if version == 0 {
		return nil
	}
	current, err := s.backend.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	if version > current {
		return NewTooLargeError(version, current, 0)
	}
	return nil
}

// load reads one object, which must exist.
func (s *Store) load(ctx context.Context, key types.NamespacedName) (runtime.Object, KeyValue, error) {
	kv, err := s.backend.Get(ctx, s.key(key))
	if err != nil {
		return nil, kv, err
	}
	if kv.Revision == 0 {
		return nil, kv, apierrors.NewNotFound(s.opts.GroupResource, key.Name)
	}
	obj, err := s.decode(kv.Key, kv.Value, kv.Revision)
	return obj, kv, err
}

// Create implements [Interface].
func (s *Store) Create(ctx context.Context, key types.NamespacedName, obj runtime.Object) (runtime.Object, error) {
	if err := s.validKey(key); err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s %q: %v", s.opts.GroupResource, KeyString(key), err))
	}
	if m.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	data, err := s.encode(key, obj)
	if err != nil {
		return nil, err
	}
	kv, ok, err := s.backend.Put(ctx, s.key(key), data, 0)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, apierrors.NewAlreadyExists(s.opts.GroupResource, key.Name)
	}
	return s.decode(kv.Key, kv.Value, kv.Revision)
}

// Update implements [Interface]. An object that is removed is returned as it was
// stored, carrying the resource version of the delete.
func (s *Store) Update(ctx context.Context, key types.NamespacedName, change func(runtime.Object) (runtime.Object, bool, error)) (runtime.Object, error) {
	if change == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s %q: nothing to do the update", s.opts.GroupResource, KeyString(key)))
	}
	for {
		current, kv, err := s.load(ctx, key)
		if err != nil {
			return nil, err
		}
		updated, remove, err := change(current)
		if err != nil {
			return nil, err
		}
		if remove {
			end, ok, err := s.backend.Delete(ctx, kv.Key, kv.Revision)
			if err != nil {
				return nil, err
			}
			if ok {
				return s.decode(kv.Key, kv.Value, end.Revision)
			}
			continue
		}
		data, err := s.encode(key, updated)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(data, kv.Value) {
			return s.decode(kv.Key, kv.Value, kv.Revision)
		}
		next, ok, err := s.backend.Put(ctx, kv.Key, data, kv.Revision)
		if err != nil {
			return nil, err
		}
		if ok {
			return s.decode(next.Key, next.Value, next.Revision)
		}
	}
}

// Delete implements [Interface].
func (s *Store) Delete(ctx context.Context, key types.NamespacedName, check func(runtime.Object) error) (runtime.Object, error) {
	return s.Update(ctx, key, func(current runtime.Object) (runtime.Object, bool, error) {
		if check == nil {
			return nil, true, nil
		}
		return nil, true, check(current)
	})
}

// validKey refuses keys that would end up in another place of the key space.
func (s *Store) validKey(key types.NamespacedName) error {
	problems := content.IsPathSegmentName(key.Name)
	if key.Name == "" {
		problems = append(problems, "must not be empty")
	}
	if key.Namespace != "" {
		problems = append(problems, content.IsPathSegmentName(key.Namespace)...)
	}
	if len(problems) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("%s: key %q %s", s.opts.GroupResource, KeyString(key), strings.Join(problems, ", ")))
	}
	return nil
}

func (s *Store) key(key types.NamespacedName) string { return s.prefix + KeyString(key) }

func (s *Store) relative(key string) string { return key[len(s.prefix):] }

// encode makes the bytes to store: the object without its resource version,
// which is the revision of its key, and without a self link, which clients of
// old send back.
func (s *Store) encode(key types.NamespacedName, obj runtime.Object) ([]byte, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s %q: %v", s.opts.GroupResource, KeyString(key), err))
	}
	if m.GetName() != key.Name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), key.Name))
	}
	if m.GetNamespace() != key.Namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if m.GetResourceVersion() != "" || m.GetSelfLink() != "" {
		obj = obj.DeepCopyObject()
		if m, err = meta.Accessor(obj); err == nil {
			m.SetResourceVersion("")
			m.SetSelfLink("")
		}
	}
	data, err := runtime.Encode(s.opts.Codec, obj)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("encode %s: %w", s.key(key), err))
	}
	return data, nil
}

// decode is the inverse of encode.
func (s *Store) decode(key string, data []byte, revision uint64) (runtime.Object, error) {
	obj, _, err := s.opts.Codec.Decode(data, nil, s.opts.NewFunc())
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("decode %s: %w", key, err))
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("decode %s: %w", key, err))
	}
	m.SetResourceVersion(formatVersion(revision))
	return obj, nil
}

// matches reports whether the selectors take obj.
func (s *Store) matches(sel Selection, obj runtime.Object) (bool, error) {
	if !sel.ByContent() {
		return true, nil
	}
	if ok, err := sel.InShard(obj); !ok || err != nil {
		return false, err
	}
	l, f, err := s.opts.Attributes(obj)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("attributes of %s: %w", s.opts.GroupResource, err))
	}
	return sel.Matches(l, f), nil
}
