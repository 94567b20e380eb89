package controllerruntime

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	finalizer  = "sea.example.com/harbor"
	ownerIndex = "owner"
	colorLabel = "color"
	ownerLabel = "deployment"
)

// admiral keeps a Deployment for each Fleet.
type admiral struct {
	client.Client
	events events.EventRecorder
}

func (r *admiral) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var f Fleet
	if err := r.Get(ctx, req.NamespacedName, &f); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.Name}}
	if f.DeletionTimestamp != nil {
		return ctrl.Result{}, r.release(ctx, &f, d)
	}
	if controllerutil.AddFinalizer(&f, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &f)
	}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		d.Spec.Replicas = &f.Spec.Ships
		d.Spec.Template.Labels = map[string]string{colorLabel: f.Spec.Color}
		return controllerutil.SetControllerReference(&f, d, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if result == controllerutil.OperationResultCreated {
		r.events.Eventf(&f, d, corev1.EventTypeNormal, "Launched", "Launch", "deployment %s", d.Name)
	}
	status := FleetStatus{Ready: d.Status.ReadyReplicas, Observed: f.Generation}
	if d.Status.ObservedGeneration != d.Generation || f.Status == status {
		return ctrl.Result{}, nil
	}
	f.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, &f)
}

// release lets a Fleet go when its Deployment is gone.
func (r *admiral) release(ctx context.Context, f *Fleet, d *appsv1.Deployment) error {
	err := r.Get(ctx, client.ObjectKeyFromObject(d), d)
	if err == nil {
		if d.DeletionTimestamp != nil {
			return nil // its end is an event
		}
		return client.IgnoreNotFound(r.Delete(ctx, d, client.Preconditions{UID: &d.UID}))
	}
	if client.IgnoreNotFound(err) != nil || !controllerutil.RemoveFinalizer(f, finalizer) {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(r.Update(ctx, f))
}

// shipyard keeps a ConfigMap for each replica of a Deployment.
type shipyard struct{ client.Client }

func (r *shipyard) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var d appsv1.Deployment
	if err := r.Get(ctx, req.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var ships corev1.ConfigMapList
	if err := r.List(ctx, &ships, client.InNamespace(d.Namespace), client.MatchingFields{ownerIndex: string(d.UID)}); err != nil {
		return ctrl.Result{}, err
	}
	if d.DeletionTimestamp != nil {
		return ctrl.Result{}, r.scrap(ctx, &d, len(ships.Items))
	}
	if !controllerutil.ContainsFinalizer(&d, finalizer) {
		before := d.DeepCopy()
		controllerutil.AddFinalizer(&d, finalizer)
		return ctrl.Result{}, r.Patch(ctx, &d, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	ready, err := r.build(ctx, &d, ships.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	if d.Status.ReadyReplicas == ready && d.Status.ObservedGeneration == d.Generation {
		return ctrl.Result{}, nil
	}
	d.Status.ReadyReplicas, d.Status.ObservedGeneration = ready, d.Generation
	return ctrl.Result{}, r.Status().Update(ctx, &d)
}

// build makes the ConfigMaps what the Deployment wants and counts them.
func (r *shipyard) build(ctx context.Context, d *appsv1.Deployment, ships []corev1.ConfigMap) (int32, error) {
	have := map[string]*corev1.ConfigMap{}
	for i := range ships {
		have[ships[i].Name] = &ships[i]
	}
	color := d.Spec.Template.Labels[colorLabel]
	for i := range *d.Spec.Replicas {
		name := fmt.Sprintf("%s-%d", d.Name, i)
		ship := have[name]
		delete(have, name)
		var err error
		switch {
		case ship == nil:
			ship = &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name, Labels: map[string]string{ownerLabel: d.Name}},
				Data:       map[string]string{colorLabel: color},
			}
			if err = controllerutil.SetControllerReference(d, ship, r.Scheme()); err == nil {
				err = client.IgnoreAlreadyExists(r.Create(ctx, ship))
			}
		case ship.DeletionTimestamp == nil && ship.Data[colorLabel] != color:
			before := ship.DeepCopy()
			ship.Data = map[string]string{colorLabel: color}
			err = r.Patch(ctx, ship, client.StrategicMergeFrom(before))
		}
		if err != nil {
			return 0, err
		}
	}
	for _, ship := range have {
		if err := client.IgnoreNotFound(r.Delete(ctx, ship)); err != nil {
			return 0, err
		}
	}
	return *d.Spec.Replicas, nil
}

// scrap deletes the ConfigMaps of a Deployment and lets it go when all are
// gone.
func (r *shipyard) scrap(ctx context.Context, d *appsv1.Deployment, left int) error {
	if left > 0 {
		return r.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(d.Namespace), client.MatchingLabels{ownerLabel: d.Name})
	}
	if !controllerutil.RemoveFinalizer(d, finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Update(ctx, d))
}

// withoutKind takes the kind from a typed custom resource. Those in lists have
// one, as they have it on the wire, while client-go takes it from those in
// watches; its detector would find them different, on any server.
func withoutKind(obj any) (any, error) {
	obj.(*Fleet).TypeMeta = metav1.TypeMeta{}
	return obj, nil
}

// newManager makes a manager with both controllers.
func newManager(t *testing.T, c *rest.Config, opts ctrl.Options) ctrl.Manager {
	t.Helper()
	opts.Logger = logger
	opts.Metrics = metricsserver.Options{BindAddress: "0"}
	opts.Controller = config.Controller{SkipNameValidation: new(true), CacheSyncTimeout: time.Hour}
	opts.Cache.ByObject = map[client.Object]cache.ByObject{&Fleet{}: {Transform: withoutKind}}
	var admirals, shipyards controller.Options
	use(&opts, &admirals, &shipyards)
	m, err := ctrl.NewManager(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	err = m.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, ownerIndex, func(obj client.Object) []string {
		if owner := metav1.GetControllerOf(obj); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(m).For(&Fleet{}).Owns(&appsv1.Deployment{}).WithOptions(admirals).
		Complete(&admiral{m.GetClient(), m.GetEventRecorder("admiral")}); err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).WithOptions(shipyards).
		Complete(&shipyard{m.GetClient()}); err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs a manager until stop is called, which waits for its end.
func run(t *testing.T, m ctrl.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if !stopped {
			stopped = true
			if err := <-done; err != nil {
				t.Errorf("the manager ended with %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}
