package apiserver_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

func TestAServerAndItsInformersLiveInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apiservertest.Start(t, apiserver.Options{})
		c := s.Client()
		maps := c.CoreV1().ConfigMaps("a")
		if _, err := maps.Create(t.Context(), configMap("m"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(c, 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		stop := make(chan struct{})
		factory.Start(stop)
		defer factory.Shutdown()
		defer close(stop)
		cache.WaitForCacheSync(stop, informer.HasSynced)
		for hour := range 5 {
			time.Sleep(time.Hour)
			if _, err := maps.Create(t.Context(), configMap(fmt.Sprint("n", hour)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if n := len(informer.GetStore().List()); n != 6 {
			t.Errorf("the informer has %d objects, want 6", n)
		}
		lists, watches := 0, 0
		for _, r := range s.Requests() {
			switch r.Verb {
			case "list":
				lists++
			case "watch":
				watches++
			}
		}
		// client-go ends its watches after 5 to 10 minutes.
		if lists != 0 || watches < 30 || watches > 65 {
			t.Errorf("%d lists and %d watches in five hours", lists, watches)
		}
	})
}

func TestAClientThatDoesNotReadCannotHoldTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apiservertest.Start(t, apiserver.Options{})
		conn, err := s.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /api/v1/configmaps?watch=1&timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		// A pipe has no buffer: the header is read, and no event is.
		head, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		if err != nil || !strings.HasPrefix(head, "HTTP/1.1 200") {
			t.Fatalf("%q, %v", head, err)
		}
		synctest.Wait()
		begin := time.Now()
		s.Stop()
		if d := time.Since(begin); d > time.Second {
			t.Errorf("it took %v, more than a second, of the time in the bubble", d)
		}
	})
}
