package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheDemonstrationShowsWhatChanges(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out strings.Builder
	if err := demonstrate(ctx, filter{resource: "deploy", namespace: "default"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text := out.String()
	for _, want := range []string{
		"following 0 deployments.apps",
		"default/web",
		"~ .spec.replicas: 1 -> 3",
		`~ .spec.template.spec.containers[name=web].image: "registry.example/web:1" -> "registry.example/web:2"`,
		`+ .metadata.labels: {"tier":"front"}`,
		".status.readyReplicas: 3",
	} {
		at := strings.Index(text, want)
		if at < 0 {
			t.Fatalf("no %q, or not in order, in\n%s", want, out.String())
		}
		text = text[at+len(want):]
	}
	if strings.Contains(out.String(), "managedFields") || strings.Contains(out.String(), ".metadata.resourceVersion") {
		t.Errorf("noise:\n%s", out.String())
	}
}

func TestAResourceIsFoundByAnyOfItsNames(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{})
	for name, want := range map[string]string{
		"po": "/v1, Resource=pods", "pod": "/v1, Resource=pods", "Pods": "/v1, Resource=pods",
		"deploy": "apps/v1, Resource=deployments", "deployments.apps": "apps/v1, Resource=deployments",
		"deployments.v1.apps": "apps/v1, Resource=deployments", "leases": "coordination.k8s.io/v1, Resource=leases",
	} {
		mapping, err := find(server.Config(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := mapping.Resource.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := find(server.Config(), "unicorns"); err == nil || !strings.Contains(err.Error(), `"unicorns"`) {
		t.Errorf("unicorns: %v", err)
	}
}
