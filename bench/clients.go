package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// What a job leaves out of objects.
const (
	cutNothing = ""
	cutManaged = "managedFields"
	cutFields  = "all but some fields"
)

// How custom resources are held.
const (
	kindUnstructured = "unstructured"
	kindTyped        = "typed"
)

// clientConfig is how both sides reach the server.
func clientConfig(j job) *rest.Config {
	config := &rest.Config{Host: j.URL + "/" + j.Mode, QPS: -1}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if j.Data == podsProtobuf || j.Data == smallSet {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return config
}

// newSynced makes an informer of a job's data the way users of either side do.
func newSynced(ctx context.Context, j job, d *delivery) (side, error) {
	set, err := datasetNamed(j.Data)
	if err != nil {
		return nil, err
	}
	if j.Side == clientGo {
		i, err := newTheirInformer(j, set)
		if err != nil {
			return nil, err
		}
		if cut := theirCut(j.Cut); cut != nil {
			if err := i.SetTransform(cut); err != nil {
				return nil, err
			}
		}
		return newTheirs(i, d.counters)
	}
	switch {
	case set.resource == "pods":
		return newOurSynced(ctx, j, nil, informer.Options[*corev1.Pod]{Indexes: ourIndexes()}, d)
	case j.Data == smallSet:
		return newOurSynced(ctx, j, nil, namespaceOptions[*corev1.ConfigMap](), d)
	case j.Case == kindTyped:
		return newOurSynced(ctx, j, workloadScheme(), namespaceOptions[*Workload](), d)
	default:
		opts := namespaceOptions[*unstructured.Unstructured]()
		opts.Scope.Kind = set.kind
		return newOurSynced(ctx, j, nil, opts, d)
	}
}

// newTheirInformer makes what a generated factory of client-go makes, or its
// dynamic factory.
func newTheirInformer(j job, set dataset) (cache.SharedIndexInformer, error) {
	config := clientConfig(j)
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	switch {
	case set.resource == "pods":
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return coreinformers.NewPodInformer(client, metav1.NamespaceAll, 0, theirIndexers()), nil
	case j.Data == smallSet:
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return coreinformers.NewConfigMapInformer(client, metav1.NamespaceAll, 0, byNamespace), nil
	case j.Case == kindTyped:
		client, err := workloadClient(config)
		if err != nil {
			return nil, err
		}
		lw := cache.NewListWatchFromClient(client, set.resource, metav1.NamespaceAll, fields.Everything())
		return cache.NewSharedIndexInformer(lw, &Workload{}, 0, byNamespace), nil
	default:
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewFilteredDynamicInformer(client, set.resourceName(), metav1.NamespaceAll, 0, byNamespace, nil).Informer(), nil
	}
}

// workloadClient is what a generated client of a custom resource has inside.
func workloadClient(config *rest.Config) (rest.Interface, error) {
	config.APIPath, config.GroupVersion = "/apis", &workloadVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(workloadScheme()).WithoutConversion()
	return rest.RESTClientFor(config)
}

// theirCut is what users of client-go cut in a transform; nil if nothing.
func theirCut(cut string) cache.TransformFunc {
	switch cut {
	case cutManaged:
		return func(obj any) (any, error) {
			o, ok := obj.(metav1.Object)
			if !ok {
				return nil, fmt.Errorf("a %T has no managed fields", obj)
			}
			o.SetManagedFields(nil)
			return obj, nil
		}
	case cutFields:
		return func(obj any) (any, error) {
			p, ok := obj.(*corev1.Pod)
			if !ok {
				return nil, fmt.Errorf("a %T is not a pod", obj)
			}
			return &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion,
					Labels: p.Labels, OwnerReferences: p.OwnerReferences},
				Spec:   corev1.PodSpec{NodeName: p.Spec.NodeName},
				Status: corev1.PodStatus{Phase: p.Status.Phase, PodIP: p.Status.PodIP},
			}, nil
		}
	}
	return nil
}

func namespaceOptions[T informer.Object]() informer.Options[T] {
	return informer.Options[T]{Indexes: indexer.Indexes[T]{indexer.NamespaceIndex: indexer.ByNamespace[T]()}}
}

// newOurSynced takes an informer from a factory of Heliograph. A nil scheme is
// that of the built-in types.
func newOurSynced[T informer.Object](ctx context.Context, j job, scheme *runtime.Scheme, opts informer.Options[T], d *delivery) (side, error) {
	factory, err := informer.NewFactory(clientConfig(j), informer.FactoryOptions{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	switch j.Cut {
	case cutManaged:
		opts.Shape.DropManagedFields = true
	case cutFields:
		opts.Shape.Fields = cutFieldsOf
	}
	i, err := informer.For(ctx, factory, opts)
	if err != nil {
		return nil, err
	}
	return newOurs(i, d.counters)
}
