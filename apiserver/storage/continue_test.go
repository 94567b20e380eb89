package storage

import (
	"encoding/base64"
	"path"
	"strings"
	"testing"
)

func TestATokenIsWhatKubernetesWrites(t *testing.T) {
	// Captured from kube-apiserver 1.37: page two of a list in one namespace.
	const captured = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIsInN0YXJ0IjoiL2JcdTAwMDAifQ"
	if got := encodeContinue("b\x00", 12); got != captured {
		t.Errorf("token %s, want %s", got, captured)
	}
	if start, revision, err := decodeContinue(captured); start != "b\x00" || revision != 12 || err != nil {
		t.Errorf("decoded %q at %d: %v", start, revision, err)
	}
	// And the one that comes with a 410, without the slash.
	const expired = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYXBcdTAwMDAifQ"
	if start, revision, err := decodeContinue(expired); start != "ap\x00" || revision != latestRevision || err != nil {
		t.Errorf("decoded %q at %d: %v", start, revision, err)
	}
}

func TestATokenOfAnyNegativeRevisionIsOfTheLatest(t *testing.T) {
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":-2,"start":"a"}`))
	if start, revision, err := decodeContinue(token); start != "a" || revision != latestRevision || err != nil {
		t.Errorf("decoded %q at %d: %v", start, revision, err)
	}
}

func FuzzContinue(f *testing.F) {
	for _, s := range []string{
		"", "abc", "{}", `{"v":"meta.k8s.io/v1","rv":12,"start":"/b\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"../x"}`,
		`{"v":"meta.k8s.io/v1","rv":5,"start":"//x"}`, `{"v":"meta.k8s.io/v1","rv":5,"start":"a/./b"}`,
	} {
		f.Add(s, "ns/name", int64(5))
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(s)), "ns/name\x00", int64(-1))
	}
	f.Fuzz(func(t *testing.T, text, start string, revision int64) {
		// Whatever a client sends must be refused or stay in its scope.
		for _, s := range []string{text, base64.RawURLEncoding.EncodeToString([]byte(text))} {
			got, rv, err := decodeContinue(s)
			if err != nil {
				if !strings.HasPrefix(err.Error(), tokenPrefix) {
					t.Errorf("%q: error %v does not say what is wrong", s, err)
				}
				continue
			}
			if rv == 0 || rv < latestRevision || got == "" || path.Clean("/"+got) != "/"+got {
				t.Errorf("%q was accepted as %q at %d", s, got, rv)
			}
		}
		// What the server writes must come back, where it is a key at all.
		if revision == 0 || revision < latestRevision || start == "" || path.Clean("/"+start) != "/"+start || !isValid(start) {
			return
		}
		got, rv, err := decodeContinue(encodeContinue(start, revision))
		if err != nil || got != start || rv != revision {
			t.Errorf("%q at %d came back as %q at %d: %v", start, revision, got, rv, err)
		}
	})
}

// isValid reports whether JSON keeps the string as it is.
func isValid(s string) bool { return strings.ToValidUTF8(s, "") == s }
