package reflector

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

const twoInJSON = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
{"metadata":{"name":"a","managedFields":[{"manager":"m"}]}},{"metadata":{"name":"broken"}}]}`

func TestTypedObjectsAreDecodedFromJSONByWhatTheUserGives(t *testing.T) {
	broken := errors.New("broken on purpose")
	calls := 0
	opts := SourceOptions{UnmarshalJSON: func(raw []byte, into any) error {
		calls++
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
		pod := into.(*corev1.Pod)
		pod.Labels = map[string]string{"by": "the user"}
		if pod.Name == "broken" {
			return broken
		}
		return nil
	}}
	answer := &answers{body: func() io.ReadCloser { return io.NopCloser(strings.NewReader(twoInJSON)) }}
	source := answering[*corev1.Pod](t, answer, opts)
	shaped, err := source.(Shaper[*corev1.Pod]).Shaped(Shape{DropManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []Source[*corev1.Pod]{source, shaped} {
		calls = 0
		var names []string
		_, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error {
			names = append(names, it.Key.Name)
			if it.Key.Name == "broken" {
				if !errors.Is(it.Err, broken) {
					t.Errorf("the error is %v", it.Err)
				}
				return nil
			}
			if it.Err != nil || it.Object.Labels["by"] != "the user" || (it.Object.ManagedFields == nil) != (source == shaped) {
				t.Errorf("got %v, %v", it.Object, it.Err)
			}
			return nil
		})
		if err != nil || calls != 2 || !slices.Equal(names, []string{"a", "broken"}) {
			t.Errorf("%d calls, %v, %v", calls, names, err)
		}
	}
	calls = 0
	if _, err := answering[*unstructured.Unstructured](t, answer, opts).List(t.Context(), metav1.ListOptions{}, func(it Item[*unstructured.Unstructured]) error { return it.Err }); err != nil || calls != 0 {
		t.Errorf("unstructured objects: %d calls, %v", calls, err)
	}
}
