package storage

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// AttributesFunc returns what selectors look at. It must be pure. The fields
// must hold every field that a selector may name, metadata.name and
// metadata.namespace included.
type AttributesFunc func(obj runtime.Object) (labels.Set, fields.Set, error)

// MetadataAttributes is the [AttributesFunc] of resources without fields of
// their own to select by: labels, name and namespace.
func MetadataAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	return m.GetLabels(), fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}, nil
}

// ByContent reports whether the content of objects decides, beyond their keys.
func (s Selection) ByContent() bool {
	return s.Labels != nil && !s.Labels.Empty() || s.Fields != nil && !s.Fields.Empty() ||
		s.Shard != nil && !s.Shard.Empty()
}

// Includes reports whether a key lies in the scope.
func (s Selection) Includes(key types.NamespacedName) bool {
	return (s.Namespace == "" || s.Namespace == key.Namespace) && (s.Name == "" || s.Name == key.Name)
}

// Matches reports whether the selectors by labels and fields agree.
func (s Selection) Matches(l labels.Set, f fields.Set) bool {
	return (s.Labels == nil || s.Labels.Matches(l)) && (s.Fields == nil || s.Fields.Matches(f))
}

// InShard reports whether an object lies in the shard. An error is one that a
// client should see.
func (s Selection) InShard(obj runtime.Object) (bool, error) {
	if s.Shard == nil || s.Shard.Empty() {
		return true, nil
	}
	ok, err := s.Shard.Matches(obj)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("shard %s: %w", s.Shard, err))
	}
	return ok, nil
}

// scope is the prefix, relative to the resource, of all keys selected.
func (s Selection) scope() string {
	if s.Namespace == "" {
		return ""
	}
	return s.Namespace + "/"
}

// KeyString is the order of lists: the part of a storage key that is relative to
// the resource, namespace/name, or name alone where there is no namespace.
func KeyString(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// ParseKey is the inverse of [KeyString].
func ParseKey(s string) types.NamespacedName {
	if namespace, name, ok := strings.Cut(s, "/"); ok {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Name: s}
}
