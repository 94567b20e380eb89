package apiservertest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/endpoints"
)

// Log is a part of the requests that a server has answered, in the order in
// which the answers began. Its methods narrow it, so that
//
//	len(server.Log().Verb("list").Resource("pods"))
//
// is the number of lists of pods.
type Log []endpoints.Request

// Log returns the requests that the server has answered so far, but for those of
// the test itself (see [Agent]). Of very many requests, the oldest are forgotten
// ([apiserver.Server.Requests], which has those of the test, too).
func (s *Server) Log() Log {
	return Log(s.Requests()).filter(func(r *endpoints.Request) bool { return r.UserAgent != Agent })
}

// Mark returns the number of the newest request, for [Log.Since].
func (s *Server) Mark() int {
	requests := s.Requests()
	if len(requests) == 0 {
		return 0
	}
	return requests[len(requests)-1].Number
}

// Since narrows the log to what came after a [Server.Mark].
func (l Log) Since(mark int) Log {
	return l.filter(func(r *endpoints.Request) bool { return r.Number > mark })
}

// Verb narrows the log to some verbs: get, list, watch, create, update, patch,
// delete or deletecollection.
func (l Log) Verb(verbs ...string) Log {
	return l.filter(func(r *endpoints.Request) bool { return slices.Contains(verbs, r.Verb) })
}

// Writes narrows the log to the verbs that write.
func (l Log) Writes() Log {
	return l.Verb("create", "update", "patch", "delete", "deletecollection")
}

// Lists narrows the log to what reads a whole collection: each page of a list,
// and watches that begin with the state (streaming lists).
func (l Log) Lists() Log {
	return l.filter(func(r *endpoints.Request) bool {
		return r.Verb == "list" || r.Verb == "watch" && strings.Contains(r.Query, "sendInitialEvents=true")
	})
}

// Resource narrows the log to one resource, as "pods" or "deployments.apps".
func (l Log) Resource(name string) Log {
	gr := schema.ParseGroupResource(name)
	return l.filter(func(r *endpoints.Request) bool { return r.Resource.GroupResource() == gr })
}

// Agent narrows the log to clients whose user agent begins with prefix.
func (l Log) Agent(prefix string) Log {
	return l.filter(func(r *endpoints.Request) bool { return strings.HasPrefix(r.UserAgent, prefix) })
}

// Code narrows the log to the answers with an HTTP status.
func (l Log) Code(code int) Log {
	return l.filter(func(r *endpoints.Request) bool { return r.Code == code })
}

func (l Log) filter(keep func(r *endpoints.Request) bool) Log {
	var kept Log
	for i := range l {
		if keep(&l[i]) {
			kept = append(kept, l[i])
		}
	}
	return kept
}

// String has a line for each request.
func (l Log) String() string {
	var b strings.Builder
	for i := range l {
		r := &l[i]
		fmt.Fprintf(&b, "%s %d %-6s %s", r.Time.Format("15:04:05.000"), r.Code, r.Verb, r.Path)
		if r.Query != "" {
			fmt.Fprintf(&b, "?%s", r.Query)
		}
		fmt.Fprintf(&b, " (%s)\n", r.UserAgent)
	}
	return b.String()
}
