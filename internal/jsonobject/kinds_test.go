package jsonobject

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestObjectsOfEveryKindAreDecodedAsByTheStockDecoder takes the kinds that
// client-go knows, filled at random, and encodes again what was decoded.
func TestObjectsOfEveryKindAreDecodedAsByTheStockDecoder(t *testing.T) {
	types := scheme.Scheme.AllKnownTypes()
	kinds := slices.SortedFunc(maps.Keys(types), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs)
	shared, private := NewDecoder(Options{}), NewDecoder(Options{Unshared: true})
	for _, kind := range kinds {
		for range 3 {
			object, err := scheme.Scheme.New(kind)
			if err != nil {
				t.Fatal(err)
			}
			filler.Fill(object)
			object.GetObjectKind().SetGroupVersionKind(kind)
			raw, err := json.Marshal(object)
			if err != nil {
				continue // the filler makes extensions that are no JSON
			}
			for range 3 {
				compare(t, kind.String(), shared, raw)
				compare(t, kind.String(), private, raw)
			}
			want, _ := stockDecode(raw)
			got, _ := shared.Decode(raw)
			wantJSON, _ := json.Marshal(want)
			if gotJSON, err := json.Marshal(got); err != nil || string(gotJSON) != string(wantJSON) {
				t.Errorf("%v: encoded again: %s (%v), want %s", kind, gotJSON, err, wantJSON)
			}
		}
	}
	if s := shared.Stats(); s.Objects < 9*300 || s.PartHits == 0 {
		t.Errorf("stats are %+v", s)
	}
}
