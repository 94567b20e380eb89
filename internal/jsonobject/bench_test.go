package jsonobject

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type m = map[string]any
type l = []any

// application returns a custom resource of 6.6 KB: number n of a set, whose
// members have their spec in common.
func application(t testing.TB, set, n int) []byte {
	name := fmt.Sprintf("application-%d-%d", set, n)
	stamp := func(i int) string { return fmt.Sprintf("2026-05-%02dT%02d:%02d:%02dZ", 1+set%28, n%24, i%60, set%60) }
	labels := m{"app.kubernetes.io/name": fmt.Sprint("application-", set), "app.kubernetes.io/managed-by": "deployer", "tier": "backend", "team": fmt.Sprint("team-", set%7)}
	var conditions, resources l
	for i, kind := range []string{"Ready", "Synced", "Healthy"} {
		conditions = append(conditions, m{"type": kind, "status": "True", "reason": kind + "Reason", "message": "the application is " + kind, "lastTransitionTime": stamp(i), "observedGeneration": 3})
	}
	for i, kind := range []string{"Deployment", "Service", "ConfigMap", "Ingress"} {
		resources = append(resources, m{"group": "apps", "version": "v1", "kind": kind, "namespace": fmt.Sprint("namespace-", set%50), "name": fmt.Sprint(name, "-", i), "status": "Synced"})
	}
	managed := func(manager, fields string) m {
		return m{"manager": manager, "operation": "Update", "apiVersion": "example.com/v1", "time": stamp(7), "fieldsType": "FieldsV1", "fieldsV1": json.RawMessage(fields)}
	}
	container := func(name string) m {
		var env l
		for i := range 6 {
			env = append(env, m{"name": fmt.Sprint("SETTING_", i), "value": fmt.Sprint("value-", i, "-", set%20)})
		}
		probe := m{"httpGet": m{"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": 5, "periodSeconds": 10, "timeoutSeconds": 1}
		return m{"name": name, "image": fmt.Sprint("registry.example.com/team/", name, ":1.", set, ".0"), "env": env, "imagePullPolicy": "IfNotPresent",
			"ports": l{m{"containerPort": 8080, "name": "http", "protocol": "TCP"}}, "livenessProbe": probe, "readinessProbe": probe,
			"resources": m{"limits": m{"cpu": "500m", "memory": "512Mi"}, "requests": m{"cpu": "100m", "memory": "128Mi"}}}
	}
	raw, err := json.Marshal(m{
		"apiVersion": "example.com/v1", "kind": "Application",
		"metadata": m{
			"name": name, "namespace": fmt.Sprint("namespace-", set%50), "uid": fmt.Sprintf("6f1c%08d-a3b5-4c2e-9d1f-%08d", set, n), "resourceVersion": fmt.Sprint(1000 + 10*set + n), "generation": 3,
			"creationTimestamp": stamp(0), "labels": labels, "annotations": m{"deployer.example.com/revision": fmt.Sprint(set % 9), "note": strings.Repeat("as it was ordered ", 3)},
			"ownerReferences": l{m{"apiVersion": "example.com/v1", "kind": "Fleet", "name": fmt.Sprint("fleet-", set), "uid": fmt.Sprintf("0a1b%08d-1111-2222-3333-444455556666", set), "controller": true, "blockOwnerDeletion": true}},
			"managedFields": l{
				managed("deployer", `{"f:metadata":{"f:annotations":{".":{},"f:deployer.example.com/revision":{},"f:note":{}},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/managed-by":{},"f:tier":{},"f:team":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0a1b\"}":{}}},"f:spec":{".":{},"f:config":{".":{},"f:logging":{},"f:limits":{}},"f:replicas":{},"f:steps":{},"f:template":{".":{},"f:spec":{".":{},"f:containers":{},"f:serviceAccountName":{}}},"f:values":{}}}`),
				managed("controller", `{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Synced\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Healthy\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:resources":{}}}`),
			},
		},
		"spec": m{
			"replicas": 3, "ratio": 0.25, "timeout": "30s", "values": m{"image.tag": fmt.Sprint("v", set%5), "ingress.host": "a.example.com", "size": "small"},
			"steps":  l{m{"name": "step-0", "pause": "5m", "weight": 20}, m{"name": "step-1", "pause": "5m", "weight": 40}, m{"name": "step-2", "pause": "5m", "weight": 60}, m{"name": "step-3", "pause": "5m", "weight": 100}},
			"config": m{"logging": m{"level": "info", "sinks": l{"stdout", "otlp"}}, "limits": m{"rps": 500, "burst": 1000.5}, "big": 9007199254740993},
			"template": m{"metadata": m{"labels": labels}, "spec": m{"containers": l{container("main"), container("sidecar"), container("proxy")}, "serviceAccountName": fmt.Sprint("account-", set%10), "terminationGracePeriodSeconds": 30,
				"securityContext": m{"runAsNonRoot": true, "runAsUser": 1000}, "tolerations": l{m{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}}}},
		},
		"status": m{"conditions": conditions, "observedGeneration": 3, "resources": resources},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// applications encodes sets of ten each.
func applications(t testing.TB, sets int) (raws [][]byte) {
	for set := range sets {
		for n := range 10 {
			raws = append(raws, application(t, set, n))
		}
	}
	return raws
}

var benchModes = []struct {
	name string
	o    Options
}{
	{"unshared", Options{Unshared: true}},
	{"unshared, no managedFields", Options{Unshared: true, DropManagedFields: true}},
	{"shared", Options{}},
	{"shared, no managedFields", Options{DropManagedFields: true}},
	{"shared, mask", Options{DropManagedFields: true, Fields: []string{
		"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.labels", "spec.replicas", "status.conditions.type"}}},
}

// decoders are those that are compared. client-go's looks for the kind first.
func decoders() (names []string, decoders []func([]byte) (map[string]any, error)) {
	names = []string{"client-go", "apimachinery"}
	decoders = append(decoders, func(raw []byte) (map[string]any, error) {
		o, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		return o.(*unstructured.Unstructured).Object, nil
	}, stockDecode)
	for _, mode := range benchModes {
		names = append(names, mode.name)
		decoders = append(decoders, NewDecoder(mode.o).Decode)
	}
	return names, decoders
}

// cpu is what the process has used. On a machine that others use too it says more
// than the time that has passed.
func cpu() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func BenchmarkApplication(b *testing.B) {
	raws := applications(b, 200)
	names, decoders := decoders()
	for i, decode := range decoders {
		b.Run(names[i], func(b *testing.B) {
			b.ReportAllocs()
			before := cpu()
			for i := 0; b.Loop(); i++ {
				if _, err := decode(raws[i%len(raws)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(len(raws[0])), "json-B")
		})
	}
}

// BenchmarkRetained reports what stays of each of 20,000 objects.
func BenchmarkRetained(b *testing.B) {
	raws := applications(b, 2000)
	names, _ := decoders()
	for i := range names {
		b.Run(names[i], func(b *testing.B) {
			for b.Loop() {
				_, decoders := decoders()
				decode := decoders[i]
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				kept := make([]any, len(raws))
				start := cpu()
				for i, raw := range raws {
					o, err := decode(raw)
					if err != nil {
						b.Fatal(err)
					}
					kept[i] = o
				}
				b.ReportMetric(float64(cpu()-start)/float64(len(raws)), "cpu-ns/object")
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(len(raws)), "retained-B/object")
				runtime.KeepAlive(kept)
				runtime.KeepAlive(decode)
			}
		})
	}
}
