package apiservertest_test

import (
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
)

func TestAServerIsThereUntilTheEndOfItsTest(t *testing.T) {
	var server *apiservertest.Server
	var inCleanup error
	failed, log := record(t, func(tb testing.TB) {
		server = apiservertest.Start(tb, apiserver.Options{})
		client := server.Client().CoreV1().ConfigMaps("a")
		if _, err := client.Create(t.Context(), configMap("m", "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		tb.Cleanup(func() {
			_, inCleanup = client.Get(t.Context(), "m", metav1.GetOptions{})
		})
	})
	if failed || log != "" {
		t.Errorf("the test failed or said something: %s", log)
	}
	if inCleanup != nil {
		t.Errorf("in a cleanup function the server answered: %v", inCleanup)
	}
	if _, err := server.Dial(t.Context(), "", ""); err == nil {
		t.Error("the server answers after its test")
	}
}

func TestAServerListensWhereTheOptionsSay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := apiservertest.Start(t, apiserver.Options{Listener: listener})
	for name, config := range map[string]func() (kubernetes.Interface, error){
		"by its configuration": func() (kubernetes.Interface, error) { return kubernetes.NewForConfig(server.Config()) },
		"by its own client":    func() (kubernetes.Interface, error) { return server.Client(), nil },
	} {
		client, err := config()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if host := server.Config().Host; host != "http://"+listener.Addr().String() {
		t.Errorf("the host is %s", host)
	}
}

func TestAFailedTestTellsWhatHappened(t *testing.T) {
	failed, log := record(t, func(tb testing.TB) {
		server := apiservertest.Start(tb, apiserver.Options{})
		client := server.Client().CoreV1().ConfigMaps("a")
		if _, err := client.Create(t.Context(), configMap("m", "1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.List(t.Context(), metav1.ListOptions{LabelSelector: "x=y"}); err != nil {
			t.Fatal(err)
		}
		tb.Errorf("not as wished")
	})
	if !failed {
		t.Error("it did not fail")
	}
	for _, want := range []string{
		"the last 3 of 3 requests",
		"201 create /api/v1/namespaces/a/configmaps (apiservertest)",
		"200 list   /api/v1/namespaces/a/configmaps?labelSelector=x%3Dy (apiservertest)",
		"2 create /core/v1/configmaps/a/m",
		"3 delete /core/v1/configmaps/a/m",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
}

func TestWhatTheOptionsCannotBeIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		run  func(tb testing.TB)
		want string
	}{
		"a resource without a group": {func(tb testing.TB) {
			apiservertest.Start(tb, apiserver.Options{Resources: []apiserver.Resource{{}}})
		}, "needs a group"},
		"a fault that does nothing": {func(tb testing.TB) {
			apiservertest.Start(tb, apiserver.Options{}).Break(fault.Fault{})
		}, "invalid fault"},
	} {
		failed, log := record(t, test.run)
		if !failed || !strings.Contains(log, test.want) {
			t.Errorf("%s: failed %v: %s", name, failed, log)
		}
	}
}

func TestTheLogTellsRequestsApart(t *testing.T) {
	server := apiservertest.Start(t, apiserver.Options{})
	config := server.Config()
	config.UserAgent = "robot/1"
	robot := kubernetes.NewForConfigOrDie(config)
	pods, maps := robot.CoreV1().Pods("a"), robot.CoreV1().ConfigMaps("a")
	for range 2 {
		if _, err := pods.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	mark := server.Mark()
	if _, err := maps.Create(t.Context(), configMap("m", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(t.Context(), configMap("m", "1"), metav1.CreateOptions{}); err == nil {
		t.Fatal("a second create succeeded")
	}
	if _, err := server.Client().CoreV1().Pods("a").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	log := server.Log()
	for name, test := range map[string]struct {
		log  apiservertest.Log
		want int
	}{
		"all but the test's own":   {log, 4},
		"by verb":                  {log.Verb("list", "watch"), 2},
		"by resource":              {log.Resource("configmaps"), 2},
		"by a resource of a group": {log.Resource("configmaps.apps"), 0},
		"by agent":                 {log.Agent("robot"), 4},
		"by another agent":         {log.Agent("human"), 0},
		"by code":                  {log.Code(409), 1},
		"writes":                   {log.Writes(), 2},
		"since a mark":             {log.Since(mark), 2},
		"by several":               {log.Since(mark).Verb("create").Code(201), 1},
	} {
		if len(test.log) != test.want {
			t.Errorf("%s: %d, want %d:\n%s", name, len(test.log), test.want, test.log)
		}
	}
}
