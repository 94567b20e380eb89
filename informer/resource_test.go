package informer

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

func TestInformersOfAGroupAndVersionShareAClient(t *testing.T) {
	f, err := NewFactory(&rest.Config{Host: "http://nobody.invalid"}, FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := func(form form, kind string, object any) rest.Interface {
		t.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		c, err := f.restClient(form, corev1.SchemeGroupVersion.WithKind(kind), reflect.TypeOf(object))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	type mine struct{ corev1.Pod }
	pods := client(typed, "Pod", &corev1.Pod{})
	if maps := client(typed, "ConfigMap", &corev1.ConfigMap{}); maps != pods {
		t.Error("two kinds that travel as protobuf have two clients")
	}
	if json := client(typed, "Pod", &mine{}); json == pods {
		t.Error("a type of the user's has the client of what travels as protobuf")
	}
}
