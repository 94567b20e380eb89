package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// find finds the resource that a user means, as kubectl does: "pods", "po", "pod",
// "deploy", "deployments.apps", "deployments.v1.apps".
func find(config *rest.Config, name string) (*meta.RESTMapping, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	whole, partial := schema.ParseResourceArg(strings.ToLower(name))
	gvr := partial.WithVersion("")
	if whole != nil {
		if kind, err := mapper.KindFor(*whole); err == nil {
			return mapper.RESTMapping(kind.GroupKind(), kind.Version)
		}
	}
	kind, err := mapper.KindFor(gvr)
	if err != nil {
		return nil, fmt.Errorf("the server has no resource %q: %w", name, err)
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}
