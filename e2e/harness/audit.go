package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

const (
	auditPolicy = "audit-policy.yaml"
	auditLog    = "audit.log"
)

// policy has the server note each read of a collection, and each question about
// what is served, when it receives them. It notes no writes, and nothing that it
// asks itself.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, ResponseComplete, Panic]
rules:
- level: None
  users: ["system:apiserver"]
- level: Metadata
  verbs: [list, watch]
- level: Metadata
  nonResourceURLs: ["/api*", "/apis*"]
- level: None
`

// auditFlags writes the policy into dir and returns the flags for it.
func auditFlags(dir string) ([]string, error) {
	path := filepath.Join(dir, auditPolicy)
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		return nil, err
	}
	return []string{
		"--audit-policy-file=" + path,
		"--audit-log-path=" + filepath.Join(dir, auditLog),
		// An entry is in the file before the request is served.
		"--audit-log-mode=blocking-strict",
	}, nil
}

// Received is a request that the server has received, whatever it answered.
type Received struct {
	// Verb is list, watch, or get for a question about what is served.
	Verb string
	// Resource is that of a list or a watch, such as "configmaps".
	Resource string
	// Path and Query are those of the request.
	Path  string
	Query url.Values
	// At is when it came.
	At time.Time
}

// String shows the request as one line.
func (r Received) String() string {
	return fmt.Sprintf("%s %s %s?%s", r.At.Format("15:04:05.000"), r.Verb, r.Path, r.Query.Encode())
}

// Received returns the reads by clients with that user agent, in the order in
// which the server received them, over all its lives. Options.Audit must have been
// set.
func (c *Cluster) Received(agent string) ([]Received, error) {
	data, err := os.ReadFile(filepath.Join(c.dir, auditLog))
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	var out []Received
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break // it is being written
		}
		r, by, err := parseAudit(line)
		if err != nil {
			return nil, fmt.Errorf("harness: the audit log has %q: %w", line, err)
		}
		if by == agent {
			out = append(out, r)
		}
	}
	return out, nil
}

// parseAudit reads one event of the audit log.
func parseAudit(line []byte) (r Received, agent string, err error) {
	var event struct {
		Verb                     string
		RequestURI               string
		UserAgent                string
		RequestReceivedTimestamp time.Time
		ObjectRef                struct{ Resource string }
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Received{}, "", err
	}
	if event.Verb == "" {
		return Received{}, "", errors.New("there is no verb")
	}
	uri, err := url.Parse(event.RequestURI)
	if err != nil {
		return Received{}, "", err
	}
	return Received{Verb: event.Verb, Resource: event.ObjectRef.Resource, Path: uri.Path, Query: uri.Query(),
		At: event.RequestReceivedTimestamp}, event.UserAgent, nil
}
