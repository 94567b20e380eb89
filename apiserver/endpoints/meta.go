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

// partialList returns the metadata of items as a PartialObjectMetadataList.
func partialList(items []runtime.Object) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{Items: make([]metav1.PartialObjectMetadata, 0, len(items))}
	list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(kindPartialList))
	for _, item := range items {
		partial, err := partialObject(item)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *partial)
	}
	return list, nil
}
