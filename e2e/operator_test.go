package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var siteResource = schema.GroupVersionResource{Group: "web.heliograph.example", Version: "v1", Resource: "sites"}

// build builds an example and returns the path of the program.
func build(t *testing.T, example string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), example)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./examples/"+example)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// program is an example that runs.
type program struct {
	*exec.Cmd
	mu     sync.Mutex
	output strings.Builder
	// ended is closed when the program has ended, and err then says how.
	ended chan struct{}
	err   error
}

// launch runs a program until the test ends, or earlier.
func launch(t *testing.T, path string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(path, args...), ended: make(chan struct{})}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = p.Stdout
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.keep(out)
		p.err = p.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(path), p.said())
		}
	})
	return p
}

func (p *program) keep(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.output, lines.Text())
		p.mu.Unlock()
	}
}

func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// kill ends a program as a crash would; an error says that it has ended already.
func (p *program) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// interrupt ends a program as a user would, and returns how it ended.
func (p *program) interrupt(t *testing.T) error {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	return p.err
}

// siteWorld is the part of the cluster that the operator works on.
type siteWorld struct {
	t         *testing.T
	sites     dynamic.ResourceInterface
	namespace string
}

func (w siteWorld) ready(name, status string) {
	w.t.Helper()
	eventually(w.t, "the condition of site "+name, func() error {
		s, err := w.sites.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(s.Object, "status", "conditions")
		if err != nil || len(conditions) != 1 {
			return fmt.Errorf("conditions %v: %v", conditions, err)
		}
		if got := conditions[0].(map[string]any)["status"]; got != status {
			return fmt.Errorf("Ready is %v, want %s", conditions[0], status)
		}
		return nil
	})
}

// children checks that a site has its three children.
func (w siteWorld) children(name string) {
	w.t.Helper()
	c := client(w.t, cluster.Config())
	eventually(w.t, "the children of site "+name, func() error {
		ctx := w.t.Context()
		if _, err := c.CoreV1().ConfigMaps(w.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := c.CoreV1().Services(w.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := c.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
}

func (w siteWorld) create(name string) {
	w.t.Helper()
	eventually(w.t, "site "+name, func() error { return w.try(name) })
}

// try creates a site, if it is not there.
func (w siteWorld) try(name string) error {
	s := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"content": "hello", "replicas": int64(2)}}}
	s.SetGroupVersionKind(siteResource.GroupVersion().WithKind("Site"))
	s.SetName(name)
	_, err := w.sites.Create(w.t.Context(), s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// makeReady does what the cluster would do if it had nodes.
func (w siteWorld) makeReady(name string) {
	w.t.Helper()
	deployments := client(w.t, cluster.Config()).AppsV1().Deployments(w.namespace)
	eventually(w.t, "Deployment "+name, func() error {
		d, err := deployments.Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		d.Status.ObservedGeneration, d.Status.Replicas, d.Status.ReadyReplicas = d.Generation, *d.Spec.Replicas, *d.Spec.Replicas
		_, err = deployments.UpdateStatus(w.t.Context(), d, metav1.UpdateOptions{})
		return err
	})
}

func (w siteWorld) holder() string {
	lease, err := client(w.t, cluster.Config()).CoordinationV1().Leases(w.namespace).Get(w.t.Context(), "site-operator", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestTheOperatorSurvivesWhatAClusterDoes(t *testing.T) {
	kubeconfig, path := writeKubeconfig(t), build(t, "operator")
	d, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	w := siteWorld{t: t, namespace: "operator"}
	makeNamespace(t, client(t, cluster.Config()), w.namespace)
	w.sites = d.Resource(siteResource).Namespace(w.namespace)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.Resource(crds).Delete(ctx, "sites."+siteResource.Group, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	args := []string{"-kubeconfig", kubeconfig, "-namespace", w.namespace, "-lease", "6s"}
	first := launch(t, path, args...)
	w.create("one")
	w.children("one")
	w.ready("one", "False")
	w.makeReady("one")
	w.ready("one", "True")
	leader := w.holder()

	t.Run("children that are deleted", func(t *testing.T) {
		for _, err := range []error{
			client(t, cluster.Config()).CoreV1().Services(w.namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}),
			client(t, cluster.Config()).CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		w.children("one")
	})
	second := launch(t, path, args...)
	t.Run("a change of the definition", func(t *testing.T) {
		definition, err := d.Resource(crds).Get(t.Context(), "sites."+siteResource.Group, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		definition.SetLabels(map[string]string{"changed": "yes"})
		versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
		versions[0].(map[string]any)["additionalPrinterColumns"] = []any{map[string]any{"name": "Content", "type": "string", "jsonPath": ".spec.content"}}
		if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Resource(crds).Update(t.Context(), definition, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.create("two")
		w.children("two")
	})
	t.Run("the death of the leader", func(t *testing.T) {
		first.kill()
		w.create("three")
		w.children("three")
		if now := w.holder(); now == leader {
			t.Errorf("%s still leads", now)
		}
	})
	t.Run("a restart of the API server", func(t *testing.T) {
		if err := cluster.KillServer(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
		defer cancel()
		if err := cluster.StartServer(ctx); err != nil {
			t.Fatal(err)
		}
		// If that took longer than its lease, the operator has ended, as it should, and
		// whoever looks after it starts it again.
		restarted := second
		eventually(t, "site four", func() error {
			select {
			case <-restarted.ended:
				restarted = launch(t, path, args...)
			default:
			}
			return w.try("four")
		})
		second = restarted
		w.children("four")
		w.makeReady("four")
		w.ready("four", "True")
	})
	t.Run("its own end, and a new start", func(t *testing.T) {
		if err := second.interrupt(t); err != nil || !strings.Contains(second.said(), "the lease is free") {
			t.Errorf("%v\n%s", err, second.said())
		}
		third := launch(t, path, args...)
		for _, name := range []string{"one", "two", "three", "four"} {
			if err := w.sites.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "the end of all sites", func() error {
			all, err := w.sites.List(t.Context(), metav1.ListOptions{})
			if err == nil && len(all.Items) > 0 {
				return fmt.Errorf("%d are left", len(all.Items))
			}
			return err
		})
		if err := third.interrupt(t); err != nil {
			t.Error(err)
		}
	})
}

func TestTailShowsWhatChangesOnACluster(t *testing.T) {
	const namespace = "tail"
	makeNamespace(t, client(t, cluster.Config()), namespace)
	p := launch(t, build(t, "tail"), "-kubeconfig", writeKubeconfig(t), "-n", namespace, "cm")
	eventually(t, "the start", func() error { return says(p, "following") })
	configMaps := client(t, cluster.Config()).CoreV1().ConfigMaps(namespace)
	made, err := configMaps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "diary"}, Data: map[string]string{"text": "monday"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Data["text"] = "tuesday"
	if _, err := configMaps.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the difference", func() error { return says(p, `~ .data.text: "monday" -> "tuesday"`) })
	if err := p.interrupt(t); err != nil {
		t.Error(err)
	}
}

func says(p *program, want string) error {
	if said := p.said(); !strings.Contains(said, want) {
		return fmt.Errorf("no %q in\n%s", want, said)
	}
	return nil
}
