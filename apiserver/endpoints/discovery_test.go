package endpoints_test

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/endpoints"
)

func TestARequestCostsTheSameHoweverManyResourcesAreServed(t *testing.T) {
	a := newAPI(t)
	a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	a.widget("a", "x", "red")
	paths := []string{configMaps, configMaps + "/a", widgetPath + "/a", "/api/v1/nodes", "/apis/example.com/v1/widgets"}
	allocations := func() map[string]float64 {
		found := make(map[string]float64)
		for _, path := range paths {
			found[path] = testing.AllocsPerRun(100, func() { a.call(http.MethodGet, path, "") })
		}
		return found
	}
	before := allocations()
	for i := range 200 {
		gvk := schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"}
		if err := a.Register(endpoints.Resource{GroupVersionKind: gvk, Plural: "things", Custom: true}); err != nil {
			t.Fatal(err)
		}
	}
	for path, n := range allocations() {
		// Going through the resources would take several for each.
		if n > before[path]+20 {
			t.Errorf("%s: %v allocations with 200 more resources, %v without", path, n, before[path])
		}
	}
}
