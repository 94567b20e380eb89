package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// jsonConfig and protobufConfig are two ways to talk to the cluster.
func jsonConfig() *rest.Config {
	config := cluster.Config()
	config.ContentType = runtime.ContentTypeJSON
	config.AcceptContentTypes = runtime.ContentTypeJSON
	return config
}

func protobufConfig() *rest.Config {
	config := cluster.Config()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	return config
}

func client(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// makeNamespace makes a namespace for one test. It stays: there is no controller here
// that could empty it.
func makeNamespace(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheServerServesBothFormats(t *testing.T) {
	for name, config := range map[string]*rest.Config{"json": jsonConfig(), "protobuf": protobufConfig()} {
		t.Run(name, func(t *testing.T) {
			c := client(t, config)
			makeNamespace(t, c, "formats-"+name)
			maps := c.CoreV1().ConfigMaps("formats-" + name)
			want := map[string]string{"key": name}
			made, err := maps.Create(t.Context(), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "one"}, Data: want}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := maps.Get(t.Context(), "one", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.UID == "" || got.UID != made.UID || got.ResourceVersion != made.ResourceVersion || got.Data["key"] != name {
				t.Errorf("created %v, got %v", made, got)
			}
			body, err := c.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default").Do(context.Background()).Raw()
			if err != nil {
				t.Fatal(err)
			}
			if isProtobuf := string(body[:4]) == "k8s\x00"; isProtobuf != (name == "protobuf") {
				t.Errorf("the body starts with %q", body[:4])
			}
		})
	}
}

func TestTheServerIsTheVersionThatTheModuleRequires(t *testing.T) {
	version, err := client(t, jsonConfig()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1.37.2"
	if version.GitVersion != want {
		t.Errorf("the server calls itself %q, the module file says %s", version.GitVersion, want)
	}
	t.Logf("kube-apiserver %s", version.GitVersion)
}
