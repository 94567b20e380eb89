package sites

import (
	"context"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/controller"
	"heliograph.example/examples/operator/site"
	"heliograph.example/informer"
)

// object is what children are.
type object interface {
	metav1.Object
	runtime.Object
}

// writer is the part of a typed client that makes children what they should be.
type writer[T object] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
}

// foreignPause is how long a site waits that cannot have its child because of an object of
// the same name that somebody else has made.
const foreignPause = time.Minute

// ensure makes a child of a site what want is, with receipts for what it writes. adapt
// changes what is there, of which it gets a copy, as far as it is not as it should be.
func ensure[T object](ctx context.Context, o *Operator, s *site.Site, inf *informer.Informer[T], client writer[T], want T, adapt func(have T)) (T, error) {
	var none T
	have, ok := inf.Store().Get(types.NamespacedName{Namespace: want.GetNamespace(), Name: want.GetName()})
	if !ok {
		made, err := controller.Write(ctx, inf, func() (T, error) { return client.Create(ctx, want, metav1.CreateOptions{}) })
		if err != nil {
			return none, fmt.Errorf("create %s: %w", inf.Name(), err)
		}
		o.tell(s, corev1.EventTypeNormal, "Created", "Created %T %s", want, want.GetName())
		return made, nil
	}
	if !metav1.IsControlledBy(have, s) {
		// No watch tells when that object goes, for it leads to no site: look again.
		return none, controller.RetryAfter(fmt.Errorf("%T %s is there and does not belong to the site", have, have.GetName()), foreignPause)
	}
	// An update carries the version of what was read: if somebody has changed it since,
	// the server refuses it, and the next try sees the change.
	next := have.DeepCopyObject().(T)
	adapt(next)
	if reflect.DeepEqual(have, next) {
		return have, nil
	}
	next, err := controller.WriteOver(ctx, inf, have, func() (T, error) { return client.Update(ctx, next, metav1.UpdateOptions{}) })
	if err != nil {
		return none, fmt.Errorf("update %s: %w", inf.Name(), err)
	}
	o.tell(s, corev1.EventTypeNormal, "Updated", "Updated %T %s", want, want.GetName())
	return next, nil
}

// ensureChildren makes all children what they should be, and returns the Deployment.
func (o *Operator) ensureChildren(ctx context.Context, s *site.Site) (*appsv1.Deployment, error) {
	content := configMap(s)
	config, err := ensure(ctx, o, s, o.configMaps, o.client.CoreV1().ConfigMaps(s.Namespace), content, func(have *corev1.ConfigMap) {
		have.Data = content.Data
	})
	if err != nil {
		return nil, err
	}
	wanted := service(s)
	if _, err = ensure(ctx, o, s, o.services, o.client.CoreV1().Services(s.Namespace), wanted, func(have *corev1.Service) {
		have.Spec.Selector = wanted.Spec.Selector
		if len(have.Spec.Ports) != 1 || have.Spec.Ports[0].Port != 80 || have.Spec.Ports[0].TargetPort != wanted.Spec.Ports[0].TargetPort {
			have.Spec.Ports = wanted.Spec.Ports
		}
	}); err != nil {
		return nil, err
	}
	web := deployment(s, config.ResourceVersion)
	return ensure(ctx, o, s, o.deployments, o.client.AppsV1().Deployments(s.Namespace), web, func(have *appsv1.Deployment) {
		// The server fills in a lot that nobody asked for, and it stays as it is.
		have.Spec.Replicas = web.Spec.Replicas
		if have.Spec.Template.Annotations == nil {
			have.Spec.Template.Annotations = map[string]string{}
		}
		have.Spec.Template.Annotations[ContentAnnotation] = config.ResourceVersion
		if len(have.Spec.Template.Spec.Containers) != 1 || have.Spec.Template.Spec.Containers[0].Image != web.Spec.Template.Spec.Containers[0].Image {
			have.Spec.Template.Spec.Containers = web.Spec.Template.Spec.Containers
		}
	})
}
