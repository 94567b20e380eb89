package endpoints

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// partialObject returns the metadata of obj as a PartialObjectMetadata. It
// shares maps and slices with obj.
func partialObject(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("metadata of a %T: %w", obj, err)
	}
	partial := meta.AsPartialObjectMetadata(m)
	partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kindPartial))
	return partial, nil
}

// newPartialList makes an empty list of metadata.
func newPartialList() runtime.Object {
	list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{}}
	list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kindPartialList))
	return list
}
