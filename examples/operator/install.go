package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"heliograph.example/examples/operator/site"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// install makes the cluster know the kind Site, as this version of the operator has it,
// and waits until it does.
func install(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	want := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(site.Definition, &want.Object); err != nil {
		return err
	}
	all := client.Resource(definitions)
	_, err = all.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = replace(ctx, all, want)
	}
	if err != nil {
		return fmt.Errorf("install the definition: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.Resource(site.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the cluster does not serve %s a minute after its definition was installed", site.Resource)
	}
	return err
}

// replace makes the definition that is there the one that is wanted.
func replace(ctx context.Context, all dynamic.ResourceInterface, want *unstructured.Unstructured) error {
	have, err := all.Get(ctx, want.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	want.SetResourceVersion(have.GetResourceVersion())
	_, err = all.Update(ctx, want, metav1.UpdateOptions{})
	return err
}
