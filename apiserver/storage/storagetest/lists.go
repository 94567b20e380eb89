package storagetest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"

	"heliograph.example/apiserver/storage"
)

var lists = map[string]func(*testing.T, *fixture){
	"a list is ordered by key and has the version of the state": func(t *testing.T, f *fixture) {
		if l := f.list(storage.ListOptions{}); len(l.Items) != 0 || l.ResourceVersion != f.version() {
			t.Errorf("the empty list is %v at %s", l.Items, l.ResourceVersion)
		}
		for _, k := range []string{"b/x", "a/z", "a/y", "a-b/x"} {
			f.create(k, "red")
		}
		version := f.bump()
		l := f.list(storage.ListOptions{})
		// The order is that of storage keys, in which "-" comes before "/".
		wantNames(t, l, "a-b/x@5", "a/y@4", "a/z@3", "b/x@2")
		if l.ResourceVersion != version {
			t.Errorf("version %s, want %s", l.ResourceVersion, version)
		}
	},
	"a list can be narrowed": func(t *testing.T, f *fixture) {
		f.create("a/x", "red")
		f.create("a/xx", "blue")
		f.create("b/x", "blue")
		f.create("aa/x", "red")
		for _, c := range []struct {
			sel  storage.Selection
			want []string
		}{
			{storage.Selection{Namespace: "a"}, []string{"a/x@2", "a/xx@3"}},
			{storage.Selection{Namespace: "a", Name: "x"}, []string{"a/x@2"}},
			{storage.Selection{Name: "x"}, []string{"a/x@2", "aa/x@5", "b/x@4"}},
			{storage.Selection{Namespace: "c"}, nil},
			{byLabel("blue"), []string{"a/xx@3", "b/x@4"}},
			{byField("red"), []string{"a/x@2", "aa/x@5"}},
			{storage.Selection{Namespace: "a", Labels: byLabel("red").Labels, Fields: byField("blue").Fields}, nil},
			{byShard("blue"), []string{"a/xx@3", "b/x@4"}},
			{byHash(t, "object.metadata.namespace", "b", "object.metadata.namespace", "aa"), []string{"aa/x@5", "b/x@4"}},
			{storage.Selection{Shard: sharding.Everything(), Name: "x"}, []string{"a/x@2", "aa/x@5", "b/x@4"}},
		} {
			wantNames(t, f.list(storage.ListOptions{Selection: c.sel}), c.want...)
		}
		l := f.list(storage.ListOptions{Selection: storage.Selection{Namespace: "a", Name: "x"}, Limit: 1})
		if wantNames(t, l, "a/x@2"); l.Continue != "" {
			t.Error("a list of one name has another page")
		}
		mixed := byHash(t, "object.metadata.namespace", "b", "object.metadata.uid", "1")
		if _, err := f.List(ctx(t), storage.ListOptions{Selection: mixed}); !apierrors.IsInternalError(err) {
			t.Errorf("a shard by two fields: %v", err)
		}
	},
	"pages show one state whatever happens meanwhile": func(t *testing.T, f *fixture) {
		for i := range 10 {
			f.create(fmt.Sprintf("ns/%d", i), "red")
		}
		version := f.version()
		var got []string
		opts := storage.ListOptions{Limit: 3}
		for left := int64(7); ; left -= 3 {
			l := f.list(opts)
			got = append(got, names(l.Items)...)
			if l.ResourceVersion != version {
				t.Errorf("a page has version %s, the first one %s", l.ResourceVersion, version)
			}
			if l.Continue == "" {
				if l.Remaining != nil {
					t.Errorf("the last page says that %d remain", *l.Remaining)
				}
				break
			}
			if l.Remaining == nil || *l.Remaining != left {
				t.Errorf("remaining %v, want %d", l.Remaining, left)
			}
			opts.Continue = l.Continue
			f.remove(fmt.Sprintf("ns/%d", 9-left))
			f.create(fmt.Sprintf("ns/new%d", left), "red")
			f.paint(fmt.Sprintf("ns/%d", 10-left), "blue")
		}
		want := make([]string, 10)
		for i := range want {
			want[i] = fmt.Sprintf("ns/%d@%d", i, i+2)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages:\n%v\nwant:\n%v", got, want)
		}
	},
	"a page with a selector is filled as long as anything matches": func(t *testing.T, f *fixture) {
		for i := range 30 {
			f.create(fmt.Sprintf("ns/%02d", i), []string{"red", "blue", "blue"}[i%3])
		}
		for _, sel := range []storage.Selection{byLabel("red"), byField("red"), byShard("red")} {
			var got []string
			opts := storage.ListOptions{Selection: sel, Limit: 4}
			for {
				l := f.list(opts)
				if l.Continue != "" && len(l.Items) != 4 {
					t.Errorf("a page of %d", len(l.Items))
				}
				if l.Remaining != nil {
					t.Error("a list with a selector knows what remains")
				}
				got = append(got, names(l.Items)...)
				if opts.Continue = l.Continue; opts.Continue == "" {
					break
				}
			}
			if len(got) != 10 || got[0] != "ns/00@2" || got[9] != "ns/27@29" {
				t.Errorf("pages: %v", got)
			}
		}
	},
	"a continue token is that of Kubernetes": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		f.create("ns/b", "red")
		for scope, start := range map[string]string{"": "/ns/a\x00", "ns": "/a\x00"} {
			l := f.list(storage.ListOptions{Selection: storage.Selection{Namespace: scope}, Limit: 1})
			if got := decoded(t, l.Continue); got["v"] != "meta.k8s.io/v1" || got["rv"] != 3.0 || got["start"] != start {
				t.Errorf("token %v, want start %q", got, start)
			}
		}
		// kube-apiserver also writes keys without the slash.
		l := f.list(storage.ListOptions{Selection: storage.Selection{Namespace: "ns"}, Continue: encoded(`{"v":"meta.k8s.io/v1","rv":3,"start":"a\u0000"}`)})
		wantNames(t, l, "ns/b@3")
	},
	"a continue token is refused with a version, and if it is none": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		f.create("ns/b", "red")
		token := f.list(storage.ListOptions{Limit: 1}).Continue
		_, err := f.List(ctx(t), storage.ListOptions{Limit: 1, Continue: token, ResourceVersion: "2"})
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "specifying resource version is not allowed when using continue")
		_, err = f.List(ctx(t), storage.ListOptions{Limit: 2, Continue: "abc"})
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest,
			"invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value")
		for _, bad := range []string{
			`{"v":"v2","rv":3,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`,
			`{"v":"meta.k8s.io/v1","rv":3,"start":""}`, `{"v":"meta.k8s.io/v1","rv":3,"start":"/../others/a"}`, `{"v":"meta.k8s.io/v1","rv":3,"start":"a/"}`,
		} {
			if _, err := f.List(ctx(t), storage.ListOptions{Continue: encoded(bad)}); !apierrors.IsBadRequest(err) {
				t.Errorf("token %s: %v", bad, err)
			}
		}
	},
	"an exact list shows the state that was": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		f.create("ns/b", "red")
		f.paint("ns/a", "blue")
		f.remove("ns/b")
		f.bump()
		for version, want := range map[string][]string{
			"1": nil, "2": {"ns/a@2"}, "3": {"ns/a@2", "ns/b@3"}, "4": {"ns/a@4", "ns/b@3"}, "5": {"ns/a@4"}, "6": {"ns/a@4"},
		} {
			l := f.list(storage.ListOptions{ResourceVersion: version, Match: metav1.ResourceVersionMatchExact})
			wantNames(t, l, want...)
			if l.ResourceVersion != version {
				t.Errorf("the list at %s has version %s", version, l.ResourceVersion)
			}
		}
		l := f.list(storage.ListOptions{ResourceVersion: "4", Limit: 1})
		if wantNames(t, l, "ns/a@4"); l.ResourceVersion != "4" || l.Continue == "" {
			t.Errorf("a version with a limit is not exact: %v", l)
		}
		l = f.list(storage.ListOptions{Continue: l.Continue, Limit: 1})
		if wantNames(t, l, "ns/b@3"); l.ResourceVersion != "4" || l.Continue != "" {
			t.Errorf("its next page is %v", l)
		}
	},
	"a list not older than a version shows the newest state": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		f.create("ns/b", "red")
		for _, opts := range []storage.ListOptions{
			{ResourceVersion: "2"},
			{ResourceVersion: "2", Match: metav1.ResourceVersionMatchNotOlderThan},
			{ResourceVersion: "3", Match: metav1.ResourceVersionMatchNotOlderThan},
			{},
		} {
			wantNames(t, f.list(opts), "ns/a@2", "ns/b@3")
		}
		l := f.list(storage.ListOptions{ResourceVersion: "3", Match: metav1.ResourceVersionMatchNotOlderThan, Limit: 1})
		if wantNames(t, l, "ns/a@2"); l.Continue == "" {
			t.Error("the limit was ignored")
		}
		if l := f.list(storage.ListOptions{ResourceVersion: "0", Limit: 1}); len(l.Items) != 2 || l.Continue != "" {
			t.Errorf("version 0 did not void the limit: %v", names(l.Items))
		}
	},
	"a list of the future or of a version that is none fails": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		for _, opts := range []storage.ListOptions{
			{ResourceVersion: "1000"},
			{ResourceVersion: "1000", Limit: 5},
			{ResourceVersion: "1000", Match: metav1.ResourceVersionMatchNotOlderThan},
			{ResourceVersion: "1000", Match: metav1.ResourceVersionMatchExact},
		} {
			_, err := f.List(ctx(t), opts)
			wantTooLarge(t, err, "1000", f.version())
		}
		_, err := f.List(ctx(t), storage.ListOptions{ResourceVersion: "-1"})
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest,
			`invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`)
	},
	"an unknown match is refused at every version": func(t *testing.T, f *fixture) {
		for _, version := range []string{"", "0", "1"} {
			_, err := f.List(ctx(t), storage.ListOptions{ResourceVersion: version, Match: "Newer"})
			wantStatus(t, err, 400, metav1.StatusReasonBadRequest, `unknown resourceVersionMatch "Newer"`)
		}
	},
	"what has been compacted has expired, and a page can go on in the newest state": func(t *testing.T, f *fixture) {
		for _, k := range []string{"ns/a", "ns/b", "ns/c"} {
			f.create(k, "red")
		}
		token := f.list(storage.ListOptions{Selection: storage.Selection{Namespace: "ns"}, Limit: 1}).Continue
		f.remove("ns/b")
		f.create("ns/d", "red")
		f.forget()
		_, err := f.List(ctx(t), storage.ListOptions{ResourceVersion: "4", Match: metav1.ResourceVersionMatchExact})
		wantStatus(t, err, 410, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")

		_, err = f.List(ctx(t), storage.ListOptions{Selection: storage.Selection{Namespace: "ns"}, Limit: 1, Continue: token})
		var status *apierrors.StatusError
		if !errors.As(err, &status) || status.ErrStatus.Code != 410 || !strings.HasPrefix(status.ErrStatus.Message, "The provided continue parameter is too old") {
			t.Fatalf("an expired page: %v", err)
		}
		next := status.ErrStatus.ListMeta.Continue
		if got := decoded(t, next); got["rv"] != -1.0 || got["start"] != "/a\x00" {
			t.Errorf("the token to go on with is %v", got)
		}
		l := f.list(storage.ListOptions{Selection: storage.Selection{Namespace: "ns"}, Limit: 1, Continue: next})
		wantNames(t, l, "ns/c@4")
		if l.ResourceVersion != f.version() || decoded(t, l.Continue)["rv"] == -1.0 {
			t.Errorf("it went on at %s with %v", l.ResourceVersion, decoded(t, l.Continue))
		}
		wantNames(t, f.list(storage.ListOptions{Selection: storage.Selection{Namespace: "ns"}, Continue: l.Continue}), "ns/d@6")
	},
	"an object without attributes spoils only lists that select by them": func(t *testing.T, f *fixture) {
		f.create("a/x", "none")
		f.create("b/y", "red")
		wantNames(t, f.list(storage.ListOptions{}), "a/x@2", "b/y@3")
		sel := byLabel("red")
		if _, err := f.List(ctx(t), storage.ListOptions{Selection: sel}); !apierrors.IsInternalError(err) {
			t.Errorf("a list that cannot be selected gave %v", err)
		}
		sel.Namespace = "b"
		wantNames(t, f.list(storage.ListOptions{Selection: sel}), "b/y@3")
	},
}

func wantNames(t *testing.T, l storage.List, want ...string) {
	t.Helper()
	if got := names(l.Items); !slices.Equal(got, want) {
		t.Errorf("list %v, want %v", got, want)
	}
}

func encoded(token string) string { return base64.RawURLEncoding.EncodeToString([]byte(token)) }

func decoded(t *testing.T, token string) map[string]any {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
