package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"heliograph.example/reflector"
)

// firstPause is the least that a reader waits after a failure.
const firstPause = 800 * time.Millisecond

// as is the configuration of another user, who has no rights but those of all.
func as(user string) *rest.Config {
	config := protobufConfig()
	config.Impersonate.UserName = user
	return config
}

// grant lets a user read ConfigMaps in a namespace, and returns when the server
// knows.
func grant(t *testing.T, c kubernetes.Interface, namespace, user string) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{configMaps.plural}, Verbs: []string{"list", "watch"}}},
	}
	if _, err := c.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", APIGroup: rbacv1.GroupName, Name: user},
	}
	if _, err := c.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	mayRead(t, c, namespace, user, true)
}

// withdraw takes away what grant has given.
func withdraw(t *testing.T, c kubernetes.Interface, namespace, user string) {
	t.Helper()
	if err := c.RbacV1().RoleBindings(namespace).Delete(t.Context(), user, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.RbacV1().Roles(namespace).Delete(t.Context(), user, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	mayRead(t, c, namespace, user, false)
}

// mayRead waits until the server's own opinion is the one that is wanted.
func mayRead(t *testing.T, c kubernetes.Interface, namespace, user string, want bool) {
	t.Helper()
	eventually(t, "the right of "+user, func() error {
		for _, verb := range []string{"list", "watch"} {
			review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: verb, Resource: configMaps.plural,
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if review.Status.Allowed != want {
				return fmt.Errorf("%s is allowed: %v", verb, review.Status.Allowed)
			}
		}
		return nil
	})
}

// comesTo waits until the reader of a subject is in a state after so many tries.
func comesTo(t *testing.T, s subject, state reflector.State, tries int) {
	t.Helper()
	eventually(t, s.of().plural, func() error {
		if r := s.status().Reader; r.State != state || r.Tries < tries {
			return fmt.Errorf("not %s after %d tries: %v", state, tries, r)
		}
		return nil
	})
}

func TestAPermissionGrantedLaterIsUsedWithoutAskingAllTheTime(t *testing.T) {
	t.Parallel()
	const namespace, user, tries = "granted", "newcomer", 2
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 100)
	l := newLine(t, as(user))
	s := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	l.factory.Start(t.Context())
	comesTo(t, s, reflector.Forbidden, tries)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.factory.Wait(now)
	for _, part := range []string{"configmaps in granted", "forbidden", user} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the wait does not name %q: %v", part, err)
		}
	}
	t.Logf("the wait says: %v", err)
	grant(t, c, namespace, user)
	synced(t, l.factory)
	proved(t, s)
	// Each pause begins with an answer, so that no two requests are closer.
	reads := received(t, l.agent)
	for n := 1; n < len(reads); n++ {
		if reads[n].Resource != configMaps.plural || reads[n-1].Resource != configMaps.plural {
			continue
		}
		if pause := reads[n].At.Sub(reads[n-1].At); pause < firstPause {
			t.Errorf("%v came %v after the one before it", reads[n], pause)
		}
	}
	// While it took to grant the right, there may have been two more.
	if y := count(t, l.agent, configMaps.plural); y.streams <= tries || y.streams > tries+3 || y.all() != y.streams {
		t.Errorf("the server was asked for %v; want streaming lists only, more than %d and at most %d", y, tries, tries+3)
	}
}

func TestAPermissionWithdrawnInMidWatchIsReportedAndTheWatchGoesOnWhenItIsBack(t *testing.T) {
	t.Parallel()
	const namespace, user = "withdrawn", "guest"
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 100)
	grant(t, c, namespace, user)
	l := newLine(t, as(user))
	s := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	l.start(t)
	theirs := newRival(t, l, namespace)
	withdraw(t, c, namespace, user)
	l.proxy.Cut() // the server lets an open watch go on
	comesTo(t, s, reflector.Forbidden, 2)
	if r := s.status().Reader; r.Class != reflector.ClassForbidden || !strings.Contains(r.Explain(), user) {
		t.Errorf("the reader says %v, of class %q", r, r.Class)
	}
	if st := s.status(); st.Objects != 100 || !st.Synced {
		t.Errorf("the store has %d objects (synced: %v), want all 100", st.Objects, st.Synced)
	}
	if err := newChurn(c, namespace, []subject{s}, 305, 300).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	grant(t, c, namespace, user)
	finish(t, c, namespace, []subject{s})
	proved(t, s)
	l.listedOnce(t, s, 8)
	theirs.tell(t, namespace, s.version(sentinel))
}
