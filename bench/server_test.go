package main

import (
	"bytes"
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// client returns a client-go client of a server in this process.
func client(t *testing.T, pods int, mode, contentType string) *kubernetes.Clientset {
	t.Helper()
	set, err := datasetNamed(podsJSON)
	if contentType == runtime.ContentTypeProtobuf {
		set, err = datasetNamed(podsProtobuf)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(set, pods, mode)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.handler())
	t.Cleanup(h.Close)
	transport := h.Client().Transport
	c, err := kubernetes.NewForConfig(&rest.Config{
		Host: h.URL + "/" + mode, Transport: transport, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everyFormat runs a test in both formats.
func everyFormat(t *testing.T, test func(t *testing.T, contentType string)) {
	for _, contentType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		t.Run(contentType, func(t *testing.T) { test(t, contentType) })
	}
}

func TestListsDecodeToThePods(t *testing.T) {
	everyFormat(t, func(t *testing.T, contentType string) {
		c := client(t, 1100, modePaged, contentType)
		var sizes []int
		opts := metav1.ListOptions{Limit: pageSize}
		for i := 0; ; {
			list, err := c.CoreV1().Pods("").List(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if list.ResourceVersion != "1100" {
				t.Errorf("a page is at version %s, want 1100", list.ResourceVersion)
			}
			sizes = append(sizes, len(list.Items))
			for n := range list.Items {
				if !apiequality.Semantic.DeepEqual(&list.Items[n], makePod(i)) {
					t.Fatalf("pod %d differs", i)
				}
				i++
			}
			if opts.Continue = list.Continue; opts.Continue == "" {
				break
			}
		}
		if len(sizes) != 3 || sizes[0] != 500 || sizes[1] != 500 || sizes[2] != 100 {
			t.Errorf("pages of %v pods, want 500, 500 and 100", sizes)
		}
	})
}

func TestStreamingListsEndInABookmark(t *testing.T) {
	everyFormat(t, func(t *testing.T, contentType string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		yes := true
		w, err := client(t, 30, modeStream, contentType).CoreV1().Pods("").Watch(ctx, metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for i := range 30 {
			e := <-w.ResultChan()
			pod, ok := e.Object.(*corev1.Pod)
			if !ok || e.Type != watch.Added {
				t.Fatalf("event %d is %s of %T", i, e.Type, e.Object)
			}
			pod.TypeMeta = metav1.TypeMeta{}
			if !apiequality.Semantic.DeepEqual(pod, makePod(i)) {
				t.Fatalf("pod %d differs", i)
			}
		}
		e := <-w.ResultChan()
		if pod, ok := e.Object.(*corev1.Pod); e.Type != watch.Bookmark || !ok || pod.ResourceVersion != "30" || pod.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("the stream ends with %s of %v", e.Type, e.Object)
		}
	})
}

func TestProtobufListsAreByteForByteWhatApimachineryWrites(t *testing.T) {
	const n = 7
	set, err := datasetNamed(podsProtobuf)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWire(set, n, modeList)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ListMeta{ResourceVersion: "7"}
	parts, err := set.format.list(set.kind, meta, w.part(0, n))
	if err != nil {
		t.Fatal(err)
	}
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: meta}
	for i := range n {
		list.Items = append(list.Items, *makePod(i))
	}
	var want bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &want); err != nil {
		t.Fatal(err)
	}
	if got := bytes.Join(parts, nil); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%d bytes differ from the %d that the serializer writes", len(got), want.Len())
	}
}

func TestTheModesAnswerAsTheySay(t *testing.T) {
	yes := true
	stream := metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	for _, mode := range []string{modeList, modePaged} {
		if _, err := client(t, 10, mode, runtime.ContentTypeProtobuf).CoreV1().Pods("").Watch(t.Context(), stream); err == nil || !strings.Contains(err.Error(), "sendInitialEvents is forbidden") {
			t.Errorf("mode %s answers a streaming list with %v", mode, err)
		}
	}
	if _, err := client(t, 10, modeStream, runtime.ContentTypeProtobuf).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the streaming mode answers a list")
	}
	if _, err := client(t, 10, modePaged, runtime.ContentTypeProtobuf).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{Limit: 3}); err == nil {
		t.Error("the paged mode answers a list of another page size")
	}
	whole := client(t, 1100, modeList, runtime.ContentTypeProtobuf)
	for version, want := range map[string]int{"0": 1100, "": 500} {
		list, err := whole.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ResourceVersion: version, Limit: 500})
		if err != nil || len(list.Items) != want {
			t.Errorf("a limited list at version %q has %d pods, want %d: %v", version, len(list.Items), want, err)
		}
	}
}
