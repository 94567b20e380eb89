package protobuf

import (
	"errors"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTypesThatKubernetesDoesNotGenerateAreNotSupported(t *testing.T) {
	for _, typ := range []reflect.Type{
		nil,
		reflect.TypeFor[corev1.Pod](),
		reflect.TypeFor[**corev1.Pod](),
		reflect.TypeFor[*string](),
		reflect.TypeFor[*link](),
		reflect.TypeFor[*unstructured.Unstructured](),
		reflect.TypeFor[*metav1.InternalEvent](),
		reflect.TypeFor[*resource.Quantity](),
		reflect.TypeFor[*metav1.Time](),
	} {
		if d, err := NewDecoder(typ, Options{}); !errors.Is(err, ErrUnsupported) || d != nil {
			t.Errorf("%v: %v, %v", typ, d, err)
		}
	}
}

func TestWhatTheTagsDoNotExplainIsNotSupported(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"fixed": reflect.TypeFor[*struct {
			F int64 `protobuf:"fixed64,1,opt,name=f"`
		}](),
		"zigzag": reflect.TypeFor[*struct {
			F int64 `protobuf:"zigzag64,1,opt,name=f"`
		}](),
		"float": reflect.TypeFor[*struct {
			F float64 `protobuf:"bytes,1,opt,name=f"`
		}](),
		"uint": reflect.TypeFor[*struct {
			F uint32 `protobuf:"varint,1,opt,name=f"`
		}](),
		"custom type": reflect.TypeFor[*struct {
			F string `protobuf:"bytes,1,opt,name=f,customtype=x"`
		}](),
		"default": reflect.TypeFor[*struct {
			F *string `protobuf:"bytes,1,opt,name=f,def=x"`
		}](),
		"no number": reflect.TypeFor[*struct {
			F string `protobuf:"bytes"`
		}](),
		"number 0": reflect.TypeFor[*struct {
			F string `protobuf:"bytes,0,opt,name=f"`
		}](),
		"huge number": reflect.TypeFor[*struct {
			F string `protobuf:"bytes,536870911,opt,name=f"`
		}](),
		"pointers": reflect.TypeFor[*struct {
			F []*link `protobuf:"bytes,1,rep,name=f"`
		}](),
		"lists": reflect.TypeFor[*struct {
			F [][]byte `protobuf:"bytes,1,rep,name=f"`
		}](),
		"a pointer to a list": reflect.TypeFor[*struct {
			F *[]string `protobuf:"bytes,1,rep,name=f"`
		}](),
		"numbered map": reflect.TypeFor[*struct {
			F map[int32]string `protobuf:"bytes,1,rep,name=f"`
		}](),
		"map of numbers": reflect.TypeFor[*struct {
			F map[string]int32 `protobuf:"bytes,1,rep,name=f"`
		}](),
		"interface": reflect.TypeFor[*struct {
			F any `protobuf:"bytes,1,opt,name=f"`
		}](),
	} {
		if _, err := compile(typ, nil, false, func(reflect.Type) bool { return true }); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlansAreMadeOnce(t *testing.T) {
	typ := reflect.TypeFor[*corev1.Pod]()
	a := decoderFor(t, typ, Options{Fields: []string{"spec", "metadata"}})
	b := decoderFor(t, typ, Options{Fields: []string{"metadata", "spec"}, Unshared: true, TableBytes: 1 << 10})
	c := decoderFor(t, typ, Options{})
	if a.plan != b.plan || a.plan == c.plan {
		t.Error("plans are for types and fields")
	}
}
