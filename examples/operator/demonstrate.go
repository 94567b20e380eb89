package main

import (
	"context"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/examples/operator/site"
	"heliograph.example/examples/operator/sites"
)

// demonstrate runs the operator on an embedded server and shows what it does.
func demonstrate(ctx context.Context, opts options, out io.Writer) error {
	resources, err := apiserver.ResourcesFromCRD(site.Definition)
	if err != nil {
		return err
	}
	server, err := apiserver.Start(context.WithoutCancel(ctx), apiserver.Options{Resources: resources})
	if err != nil {
		return err
	}
	defer server.Stop()
	config := server.Config()
	o, err := sites.New(ctx, config, opts.operator)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- o.Run(running) }()
	d := demonstration{out: out, operator: o}
	if d.client, err = kubernetes.NewForConfig(config); err == nil {
		d.sites, err = site.NewClient(config)
	}
	if err == nil {
		err = d.play(ctx)
	}
	stop()
	if failed := <-ended; err == nil {
		err = failed
	}
	if err == nil {
		fmt.Fprintln(out, "stopped; the lease is free")
	}
	return err
}

// demonstration is the life of one site, with the hand of a user and that of the cluster,
// which makes servers ready.
type demonstration struct {
	out      io.Writer
	operator *sites.Operator
	client   kubernetes.Interface
	sites    *site.Client
}

const namespace, name = "default", "welcome"

func (d demonstration) play(ctx context.Context) error {
	two := int32(2)
	s := &site.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: site.Spec{Content: "hello", Replicas: &two}}
	for _, step := range []struct {
		what string
		do   func() error
		done func() (bool, error)
	}{
		{"a user creates a site", func() error {
			_, err := d.sites.Sites(namespace).Create(ctx, s, metav1.CreateOptions{})
			return err
		}, d.condition(ctx, metav1.ConditionFalse)},
		{"its servers become ready", func() error { return d.makeReady(ctx) }, d.condition(ctx, metav1.ConditionTrue)},
		{"somebody deletes its Service", func() error {
			return d.client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}, func() (bool, error) {
			_, err := d.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
			return err == nil, nil
		}},
		{"the user deletes the site", func() error {
			return d.sites.Sites(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}, func() (bool, error) {
			_, err := d.sites.Sites(namespace).Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}},
	} {
		fmt.Fprintf(d.out, "%s\n", step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return step.done() })
		if err != nil {
			return fmt.Errorf("after %q: %w", step.what, err)
		}
		fmt.Fprintf(d.out, "  %s\n", d.line(ctx))
	}
	return nil
}

// condition waits for the condition Ready to have a status.
func (d demonstration) condition(ctx context.Context, want metav1.ConditionStatus) func() (bool, error) {
	return func() (bool, error) {
		s, err := d.sites.Sites(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && len(s.Status.Conditions) > 0 && s.Status.Conditions[0].Status == want, err
	}
}

// makeReady does what a cluster would do with the Deployment.
func (d demonstration) makeReady(ctx context.Context) error {
	web, err := d.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	web.Status.ObservedGeneration, web.Status.ReadyReplicas = web.Generation, *web.Spec.Replicas
	_, err = d.client.AppsV1().Deployments(namespace).UpdateStatus(ctx, web, metav1.UpdateOptions{})
	return err
}

// line says how the site is.
func (d demonstration) line(ctx context.Context) string {
	status := d.operator.Status()
	s, err := d.sites.Sites(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || len(s.Status.Conditions) == 0 {
		return fmt.Sprintf("it is gone, and %d pages are in the register; %d reconciles", d.operator.Register.Len(), status.Reconciles)
	}
	c := s.Status.Conditions[0]
	return fmt.Sprintf("Ready=%s (%s): %s; %d reconciles", c.Status, c.Reason, c.Message, status.Reconciles)
}
