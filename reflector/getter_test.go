package reflector

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func TestAnObjectIsReadByItsName(t *testing.T) {
	var pods []*corev1.Pod
	s := &plainServer{list: func(w http.ResponseWriter, _ url.Values) {
		if err := json.NewEncoder(w).Encode(podList("10", "", pods...)); err != nil {
			t.Error(err)
		}
	}}
	source := podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{LabelSelector: "a=b", FieldSelector: "spec.nodeName=n"})
	getter := source.(Getter[*corev1.Pod])

	pods = []*corev1.Pod{pod("a", "5")}
	it, err := getter.Get(t.Context(), key("a"))
	if err != nil || it.Err != nil || it.Key != key("a") || it.Version != "5" || it.Object.Spec.NodeName != "node-of-a" {
		t.Errorf("got %+v, %v", it, err)
	}
	_, last := s.asked()
	if q := last.Query(); last.Path != "/api/v1/namespaces/ns/pods" || q.Get("labelSelector") != "a=b" ||
		q.Get("fieldSelector") != "spec.nodeName=n,metadata.name=a" || q.Get("resourceVersion") != "" {
		t.Errorf("asked for %v", last)
	}

	pods = nil
	if it, err := getter.Get(t.Context(), key("a")); !errors.Is(err, ErrNoObject) || it.Version != "10" || it.Key != key("a") {
		t.Errorf("absent: got %+v, %v", it, err)
	}
}

func TestReadingAnObjectOfAResourceThatIsNotServedIsNotItsAbsence(t *testing.T) {
	s := &plainServer{list: func(w http.ResponseWriter, _ url.Values) { http.NotFound(w, nil) }}
	source := podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{})
	if _, err := source.(Getter[*corev1.Pod]).Get(t.Context(), key("a")); !apierrors.IsNotFound(err) || errors.Is(err, ErrNoObject) {
		t.Errorf("got %v", err)
	}
}

func TestAnObjectOfAnotherTypeIsReadAsAnItemWithAnError(t *testing.T) {
	s := &plainServer{list: func(w http.ResponseWriter, _ url.Values) {
		if err := json.NewEncoder(w).Encode(podList("10", "", pod("a", "5"))); err != nil {
			t.Error(err)
		}
	}}
	source := podSource[*corev1.ConfigMap](t, s, rest.ContentConfig{}, SourceOptions{})
	it, err := source.(Getter[*corev1.ConfigMap]).Get(t.Context(), key("a"))
	var problem *ObjectError
	if err != nil || !errors.As(it.Err, &problem) || problem.Stage != StageType || it.Version != "5" {
		t.Errorf("got %+v, %v", it, err)
	}
}

func TestAListerWatcherCannotReadOneObject(t *testing.T) {
	source, err := FromListerWatcher[*corev1.Pod](podListWatch(fake.NewClientset()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.(Getter[*corev1.Pod]).Get(t.Context(), key("a")); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestAFakeClientReadsTheObjectOfTheName(t *testing.T) {
	source, err := NewDynamicSource(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a", "5"), pod("b", "6")), podsGVR, SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	it, err := source.(Getter[*unstructured.Unstructured]).Get(t.Context(), key("b"))
	if err != nil || it.Key != key("b") || it.Object.GetName() != "b" {
		t.Errorf("got %+v, %v", it, err)
	}
}
