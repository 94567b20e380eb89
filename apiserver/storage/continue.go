package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// tokenVersion is the only version of continue tokens that kube-apiserver
// writes and reads.
const tokenVersion = "meta.k8s.io/v1"

// latestRevision in a token stands for whatever is newest.
const latestRevision = -1

// continueToken is a place in a list: a revision, or latestRevision, and the
// first key that is still to come, relative to the listed scope.
type continueToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// tokenPrefix begins every complaint about a token, as on kube-apiserver.
const tokenPrefix = "continue key is not valid"

// encodeContinue makes the token for the page that begins at start, a key
// relative to the listed scope, in the state at revision. Like kube-apiserver's
// watch cache, it sets a slash before the key.
func encodeContinue(start string, revision int64) string {
	// A struct of strings and a number cannot fail to marshal.
	b, _ := json.Marshal(continueToken{Version: tokenVersion, Revision: revision, Start: "/" + start})
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeContinue is the inverse of encodeContinue. It accepts keys with and
// without the slash, because kube-apiserver writes both.
func decodeContinue(s string) (start string, revision int64, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", tokenPrefix, err)
	}
	var t continueToken
	if err := json.Unmarshal(b, &t); err != nil {
		return "", 0, fmt.Errorf("%s: %w", tokenPrefix, err)
	}
	switch {
	case t.Version != tokenVersion:
		return "", 0, errors.New(tokenPrefix + ": server does not recognize this encoded version " + t.Version)
	case t.Revision == 0:
		return "", 0, errors.New(tokenPrefix + ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "" || t.Start == "/":
		return "", 0, errors.New(tokenPrefix + ": encoded start key empty (version meta.k8s.io/v1)")
	}
	// A key that walks up would leave the scope that the list may see.
	key := "/" + strings.TrimPrefix(t.Start, "/")
	if path.Clean(key) != key {
		return "", 0, fmt.Errorf("%s: %s", tokenPrefix, t.Start)
	}
	// Like kube-apiserver, which writes only one of them, it takes any negative
	// revision for the latest.
	return key[1:], max(t.Revision, latestRevision), nil
}
