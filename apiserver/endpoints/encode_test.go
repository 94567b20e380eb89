package endpoints

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// forms are all forms that events are told in.
var forms = []output{
	{media: runtime.ContentTypeJSON}, {media: runtime.ContentTypeJSON, partial: true},
	{media: runtime.ContentTypeProtobuf}, {media: runtime.ContentTypeProtobuf, partial: true},
}

func TestEncodingsOfSharedEventsHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		for _, out := range forms {
			name := encodingName(event, out)
			if seen[name] {
				t.Errorf("%s as %v: the name %q is taken", event, out, name)
			}
			seen[name] = true
		}
	}
}

func TestTheNameOfAnEncodingIsNotPutTogetherForEachEvent(t *testing.T) {
	length := 0
	allocated := testing.AllocsPerRun(100, func() {
		for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			for _, out := range forms {
				length += len(encodingName(event, out))
			}
		}
	})
	if allocated != 0 || length == 0 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestAnItemThatIsNotOfItsSizeBreaksTheList is about a list in protobuf, of which
// the size is told before the items.
func TestAnItemThatIsNotOfItsSizeBreaksTheList(t *testing.T) {
	empty := newPartialList()
	item := func(name string) runtime.Object {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(name)
		partial, err := partialObject(u)
		if err != nil {
			t.Fatal(err)
		}
		return partial
	}
	form := item("the size of this one is told")
	parts, err := splitProtobuf(empty, []runtime.Object{form}, func(runtime.Object) (runtime.Object, error) { return form, nil })
	if err != nil {
		t.Fatal(err)
	}
	form = item("but this is sent")
	w := httptest.NewRecorder()
	q := &request{Request: httptest.NewRequest(http.MethodGet, "/", nil), w: &recorder{ResponseWriter: w}, res: &Resource{Plural: "things"}}
	err = (&Handler{}).sendParts(t.Context(), q, parts, []runtime.Object{form}, output{media: runtime.ContentTypeProtobuf})
	if err == nil || q.w.code != 0 || w.Body.Len() != 0 {
		t.Errorf("error %v, code %d, %d bytes", err, q.w.code, w.Body.Len())
	}
}
