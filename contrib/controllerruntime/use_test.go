package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/indexer"
)

func TestAManagerRunsOnOurInformersAndQueues(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := apiservertest.Start(t, apiserver.Options{}).Config()
	var options ctrl.Options
	var controllers controller.Options
	Use(&options, &controllers, nil)
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	seen := make(chan string, 10)
	var mgr ctrl.Manager
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var m corev1.ConfigMap
		if err := mgr.GetClient().Get(ctx, request.NamespacedName, &m); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		seen <- m.Name
		return reconcile.Result{}, nil
	})
	controllers.SkipNameValidation = new(true)
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).WithOptions(controllers).Complete(reconciler); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	_, err = kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-seen:
		if name != "mine" {
			t.Errorf("reconciled is %q", name)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is reconciled")
	}
	informer, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	// The store of client-go has another one beneath it; ours tells errors of ours.
	_, err = informer.(cache.SharedIndexInformer).GetIndexer().ByIndex("nothing", "")
	if !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("the informer is a %T, whose store says %v", informer, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager has ended with %v", err)
	}
}

func TestUseLeavesWhatIsSet(t *testing.T) {
	theirs := cache.NewSharedIndexInformer
	options := ctrl.Options{}
	options.Cache.NewInformer = theirs
	Use(&options)
	if fmt.Sprintf("%p", options.Cache.NewInformer) != fmt.Sprintf("%p", theirs) {
		t.Error("a constructor of informers that was set is replaced")
	}
	controllers := controller.Options{NewQueue: NewQueue[reconcile.Request]}
	Use(nil, &controllers)
	if controllers.NewQueue == nil {
		t.Error("a queue that was set is gone")
	}
}
