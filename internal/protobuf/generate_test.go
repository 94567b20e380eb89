package protobuf

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// stock is what the generated code of every kind has.
type stock interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

var stockType = reflect.TypeFor[stock]()

// kinds returns the pointer types of client-go's scheme that have protobuf,
// and PartialObjectMetadata.
func kinds(t testing.TB) []reflect.Type {
	types := []reflect.Type{reflect.TypeFor[*metav1.PartialObjectMetadata](), reflect.TypeFor[*metav1.PartialObjectMetadataList]()}
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		if p := reflect.PointerTo(typ); p.Implements(stockType) && !slices.Contains(types, p) {
			types = append(types, p)
		} else if !p.Implements(stockType) && typ != reflect.TypeFor[metav1.InternalEvent]() {
			t.Errorf("%v has no protobuf: is this new?", typ)
		}
	}
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return strings.Compare(a.Elem().PkgPath()+a.String(), b.Elem().PkgPath()+b.String())
	})
	return types
}

// A filler fills objects at random. With few different values, so that equal
// ones come often, and with values that are special on the wire.
type filler struct {
	*rand.Rand
	full bool // leave nothing out
}

func newFiller(seed uint64) *filler { return &filler{Rand: rand.New(rand.NewPCG(seed, 1))} }

// object returns a new object of pointer type t.
func (r *filler) object(t reflect.Type) stock {
	v := reflect.New(t.Elem())
	r.fill(v.Elem(), 0)
	return v.Interface().(stock)
}

func (r *filler) fill(v reflect.Value, depth int) {
	if !r.full && depth > 2 && r.IntN(4) == 0 || depth > 20 {
		return
	}
	if r.special(v.Addr().Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(r.number())))
	case reflect.Int64:
		v.SetInt(r.number())
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.String:
		v.SetString(r.text())
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem(), depth+1)
	case reflect.Slice:
		n := r.few(depth)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			r.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.few(depth) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(r.text())
			r.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if tag, ok := v.Type().Field(i).Tag.Lookup("protobuf"); ok && tag != "-" {
				r.fill(v.Field(i), depth+1)
			}
		}
	default:
		panic(fmt.Sprint("nothing to fill ", v.Type(), " with"))
	}
}

// few returns a length, which gets shorter with depth.
func (r *filler) few(depth int) int {
	if r.full {
		return 1
	}
	return r.IntN(max(2, 4-depth/3))
}

func (r *filler) special(p any) bool {
	switch p := p.(type) {
	case *resource.Quantity:
		texts := []string{"0", "1", "100m", "16Gi", "1.5Gi", "128Mi", "0.5", "-3k", "1e3", "123456789012345678901234567890", "0.1Gi", "1n", "7E"}
		*p = resource.MustParse(texts[r.IntN(len(texts))])
	case *metav1.Time:
		p.Time = time.Unix(r.number()>>20, r.Int64N(1e9))
	case *metav1.MicroTime:
		p.Time = time.Unix(r.number()>>20, r.Int64N(1e9))
	case *metav1.FieldsV1:
		p.SetRawString(`{"f:` + r.text() + `":{}}`)
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(r.IntN(100)))
		if r.IntN(2) == 0 {
			*p = intstr.FromString(r.text())
		}
	default:
		return false
	}
	return true
}

func (r *filler) number() int64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return r.Int64() - r.Int64()
	}
	return int64(r.IntN(300))
}

func (r *filler) text() string {
	switch r.IntN(12) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("long ", r.IntN(60))
	case 2:
		return "invalid \xff\xfe UTF-8" // the generated code does not mind
	case 3:
		return fmt.Sprint(r.Uint64())
	}
	return "text-" + string(rune('a'+r.IntN(20)))
}

// pod returns a Pod as a Deployment makes them, of about 4 KB: pod n of its
// ReplicaSet.
func pod(set, n int) *corev1.Pod {
	now := metav1.NewTime(time.Unix(1_700_000_000+int64(set*60+n), 0))
	hash := fmt.Sprintf("%08x", 0x5bd1e995+set*7919)
	app := fmt.Sprintf("app-%d", set)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%s-%05x", app, hash, n), GenerateName: app + "-" + hash + "-", Namespace: fmt.Sprintf("ns-%d", set%50),
		UID: podUID(set, n), ResourceVersion: fmt.Sprint(1_000_000 + set*1000 + n), CreationTimestamp: now,
		Labels:          map[string]string{"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app + "-prod", "app.kubernetes.io/component": "server", "pod-template-hash": hash},
		Annotations:     map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090", "checksum/config": strings.Repeat(hash, 8)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-" + hash, UID: podUID(set, -1), Controller: new(true), BlockOwnerDeletion: new(true)}},
		ManagedFields:   podManagedFields(now),
	}}
	p.Spec = podSpec(app)
	p.Spec.NodeName = fmt.Sprintf("node-%d.eu-west-1.compute.internal", (set*31+n*17)%500)
	p.Status = podStatus(now, set, n)
	return p
}

func podSpec(app string) corev1.PodSpec {
	container := func(name string) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/team/" + app + "/" + name + ":v1.24.7", ImagePullPolicy: corev1.PullIfNotPresent,
			Args:                     []string{"--config=/etc/" + app + "/config.yaml", "--log-level=info", "--listen=:8080"},
			Ports:                    []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}},
			Env:                      []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "400MiB"}, {Name: "REGION", Value: "eu-west-1"}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}},
			Resources:                corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("512Mi")}, Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}},
			VolumeMounts:             []corev1.VolumeMount{{Name: "config", MountPath: "/etc/" + app, ReadOnly: true}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			LivenessProbe:            &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}}, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3},
			TerminationMessagePath:   "/dev/termination-log",
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			SecurityContext:          &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{container("main"), container("proxy")},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}, DefaultMode: new(int32(420))}}},
			{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			}}}},
		},
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
		ServiceAccountName: app, DeprecatedServiceAccount: app, SchedulerName: "default-scheduler", EnableServiceLinks: new(true),
		SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(2000))}, Priority: new(int32(0)),
		Tolerations: []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}, {Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}},
	}
}

func podStatus(now metav1.Time, set, n int) corev1.PodStatus {
	s := corev1.PodStatus{Phase: corev1.PodRunning, HostIP: fmt.Sprintf("10.0.%d.%d", set%250, n%5), PodIP: fmt.Sprintf("10.1.%d.%d", set%250, n%250), StartTime: &now, QOSClass: corev1.PodQOSBurstable}
	s.PodIPs, s.HostIPs = []corev1.PodIP{{IP: s.PodIP}}, []corev1.HostIP{{IP: s.HostIP}}
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range []string{"main", "proxy"} {
		image := fmt.Sprintf("registry.example.com/team/app-%d/%s", set, c)
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c, Ready: true, Started: new(true), Image: image + ":v1.24.7", ImageID: image + "@sha256:" + strings.Repeat("9f86d081", 8),
			ContainerID: fmt.Sprintf("containerd://%064x", set*1_000_003+n*101+len(c)), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return s
}

func podManagedFields(now metav1.Time) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{}},"f:labels":{".":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:args":{},"f:image":{},"f:name":{},"f:ports":{}},"k:{\"name\":\"proxy\"}":{".":{},"f:image":{}}}}}`)},
		{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}}`)},
	}
}

func podUID(set, n int) types.UID {
	return types.UID(fmt.Sprintf("%08x-5c1e-4f7a-9d8b-%012x", set, n+1))
}

func encode(t testing.TB, o stock) []byte {
	t.Helper()
	b, err := o.Marshal()
	if err != nil {
		t.Fatalf("%T: %v", o, err)
	}
	return b
}
