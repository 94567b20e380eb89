package sites

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/controller"
	"heliograph.example/examples/operator/site"
)

// Finalizer keeps a site until its page was taken out of the register.
const Finalizer = "web.heliograph.example/register"

// reconcile brings one site nearer to what it asks for. It reads from the stores, and
// writes what differs; what it has written, the next call sees.
func (o *Operator) reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	s, ok := o.sites.Store().Get(key)
	if !ok {
		return controller.Result{}, nil // gone, and its children with it
	}
	if s.DeletionTimestamp != nil {
		return controller.Result{}, o.finalize(ctx, s)
	}
	if !slices.Contains(s.Finalizers, Finalizer) {
		held, err := controller.WriteOver(ctx, o.sites, s, func() (*site.Site, error) { return o.custom.Hold(ctx, s, Finalizer) })
		if err != nil {
			return controller.Result{}, fmt.Errorf("add the finalizer: %w", err)
		}
		s = held
	}
	o.Register.put(key, s.Spec.Content)
	web, err := o.ensureChildren(ctx, s)
	if failed := o.report(ctx, s, web, err); err == nil {
		err = failed
	}
	return controller.Result{}, err
}

// finalize does what is left to do for a site that goes, and lets it go.
func (o *Operator) finalize(ctx context.Context, s *site.Site) error {
	if !slices.Contains(s.Finalizers, Finalizer) {
		return nil // somebody else holds it
	}
	o.Register.remove(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
	_, err := controller.Write(ctx, o.sites, func() (*site.Site, error) { return o.custom.Finalize(ctx, s, Finalizer) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// report writes the status of a site if it differs from what is there.
func (o *Operator) report(ctx context.Context, s *site.Site, web *appsv1.Deployment, failed error) error {
	next := s.DeepCopy()
	next.Status.ObservedGeneration = s.Generation
	if web != nil {
		next.Status.ReadyReplicas = web.Status.ReadyReplicas
	}
	condition := readiness(s, web, failed)
	changed := meta.SetStatusCondition(&next.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(s.Status, next.Status) {
		return nil
	}
	_, err := controller.WriteOver(ctx, o.sites, s, func() (*site.Site, error) {
		return o.custom.Sites(s.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	})
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	if changed && condition.Reason != progressing {
		kind := corev1.EventTypeNormal
		if failed != nil {
			kind = corev1.EventTypeWarning
		}
		o.tell(s, kind, condition.Reason, "%s", condition.Message)
	}
	return nil
}

const progressing = "Progressing"

// readiness is the condition of a site.
func readiness(s *site.Site, web *appsv1.Deployment, failed error) metav1.Condition {
	c := metav1.Condition{Type: site.Ready, ObservedGeneration: s.Generation, Status: metav1.ConditionFalse}
	switch {
	case failed != nil:
		c.Reason, c.Message = "Failed", failed.Error()
	case web.Status.ObservedGeneration < web.Generation || web.Status.ReadyReplicas < replicas(s):
		c.Reason, c.Message = progressing, fmt.Sprintf("%d of %d servers are ready", web.Status.ReadyReplicas, replicas(s))
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Serving", fmt.Sprintf("%d servers are ready", web.Status.ReadyReplicas)
	}
	return c
}
