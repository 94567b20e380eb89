package endpoints

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	kindPartial     = "PartialObjectMetadata"
	kindPartialList = "PartialObjectMetadataList"
)

// The media types that objects and streams are offered in, in the order in
// which kube-apiserver names them.
var (
	objectTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	streamTypes = []string{runtime.ContentTypeJSON + ";stream=watch", runtime.ContentTypeProtobuf + ";stream=watch"}
)

// output is the form of an answer: what was agreed with the client.
type output struct {
	// media is the media type without parameters.
	media string
	// partial is whether only metadata is wanted.
	partial bool
	// pretty is whether JSON is indented for people.
	pretty bool
}

// clause is one element of an Accept header.
type clause struct {
	media  string
	params map[string]string
	q      float64
}

// parseAccept splits an Accept header, best first. Elements that cannot be
// parsed are left out; no header at all accepts anything.
func parseAccept(header string) []clause {
	if strings.TrimSpace(header) == "" {
		return []clause{{media: "*/*", q: 1}}
	}
	var clauses []clause
	for part := range strings.SplitSeq(header, ",") {
		media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil {
			continue
		}
		c := clause{media: media, params: params, q: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.q = q
		}
		clauses = append(clauses, c)
	}
	slices.SortStableFunc(clauses, func(a, b clause) int {
		switch {
		case a.q > b.q:
			return -1
		case a.q < b.q:
			return 1
		}
		return 0
	})
	return clauses
}

// shape is what kind of answer is being negotiated.
type shape int

const (
	shapeObject shape = iota // one object
	shapeList
	shapeWatch
	shapeStatus // an error, which every encoding can show
)

// negotiate finds the form of an answer of the given shape about r, which is
// nil for answers that are about no resource.
func negotiate(req *http.Request, r *Resource, s shape) (output, error) {
	pretty := wantsPretty(req)
	known := false
	for _, c := range parseAccept(req.Header.Get("Accept")) {
		if out, ok := c.accept(r, s); ok {
			out.pretty = pretty && s != shapeWatch
			return out, nil
		}
		known = known || c.media == "*/*" || slices.Contains(objectTypes, c.media)
	}
	if r != nil && !r.Custom && !known {
		return output{}, notRouted(s)
	}
	if s == shapeWatch {
		return output{}, notAcceptable(streamTypes)
	}
	return output{}, notAcceptable(objectTypes)
}

// notRouted is the answer for a built-in resource if Accept names no media type
// that it has in any shape: there the router below kube-apiserver answers.
func notRouted(s shape) error {
	types := objectTypes
	if s != shapeObject {
		types = slices.Concat(objectTypes, streamTypes)
	}
	return genericError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "))
}

// accept returns the form that the clause asks for, if it can be had.
func (c clause) accept(r *Resource, s shape) (output, bool) {
	out := output{media: c.media}
	if c.q <= 0 {
		return out, false
	}
	switch c.media {
	case "*/*", "application/*":
		out.media = runtime.ContentTypeJSON
	case runtime.ContentTypeJSON, runtime.ContentTypeProtobuf:
	case runtime.ContentTypeYAML:
		if s == shapeWatch {
			return out, false
		}
	default:
		return out, false
	}
	if s == shapeStatus {
		return out, true
	}
	if stream := c.params["stream"]; stream != "" && (stream != "watch" || out.media == runtime.ContentTypeYAML) {
		return out, false
	}
	as, group, version := c.params["as"], c.params["g"], c.params["v"]
	switch {
	case as == "" && group == "" && version == "":
		// Custom resources have no protobuf, but their metadata has.
		return out, r == nil || !r.Custom || out.media != runtime.ContentTypeProtobuf
	case group != "meta.k8s.io" || version != "v1":
		return out, false
	case as == kindPartial && s != shapeList, as == kindPartialList && s == shapeList:
		out.partial = true
		return out, true
	}
	return out, false
}

// wantsPretty reports whether a person reads the answer.
func wantsPretty(req *http.Request) bool {
	if strings.Contains(req.URL.RawQuery, "pretty") {
		if v := req.URL.Query().Get("pretty"); v != "" {
			pretty, err := strconv.ParseBool(v)
			return err == nil && pretty
		}
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}
