package endpoints_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// The bodies in this file were captured from kube-apiserver 1.37 (its
// apiextensions-apiserver serving a CustomResourceDefinition of widgets);
// versions and identities are written as placeholders.

func TestErrorsAreThoseOfKubeAPIServer(t *testing.T) {
	const (
		json  = "application/json"
		b     = widgetPath + "/b"
		token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIsInN0YXJ0IjoiL2JcdTAwMDAifQ"
		list  = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ListOptions.meta.k8s.io \"\" is invalid: `
		cause = `","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: `
	)
	failure := func(message, rest string) string {
		return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"` + message + `",` + rest + `}`
	}
	forbidden := func(field, message string) string {
		return list + field + ": Forbidden: " + message + cause + message + `","field":"` + field + `"}]},"code":422}`
	}
	for _, c := range []struct {
		name, method, path, contentType, body string
		code                                  int
		want                                  string
	}{
		{"create again", "POST", widgetPath, json, widgetJSON("a", "x", "red"), 409,
			failure(`widgets.example.com \"a\" already exists`, `"reason":"AlreadyExists","details":{"name":"a","group":"example.com","kind":"widgets"},"code":409`)},
		{"create bad JSON", "POST", widgetPath, json, `{"apiVersion":`, 400,
			failure(`the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: unexpected end of JSON input ({\"apiVersion\":)`, `"reason":"BadRequest","code":400`)},
		{"create of another kind", "POST", widgetPath, json, `{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"q"}}`, 422,
			failure(`Foo.example.com \"q\" is invalid: kind: Invalid value: \"Foo\": must be Widget`, `"reason":"Invalid","details":{"name":"q","group":"example.com","kind":"Foo","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"Foo\": must be Widget","field":"kind"}]},"code":422`)},
		{"create in another namespace", "POST", widgetPath, json, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"q","namespace":"other"}}`, 400,
			failure(`the namespace of the provided object does not match the namespace sent on the request`, `"reason":"BadRequest","code":400`)},
		{"create of an unknown content type", "POST", widgetPath, "text/foo", `{}`, 415,
			failure(`the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf`, `"reason":"UnsupportedMediaType","code":415`)},
		{"get what is not there", "GET", widgetPath + "/nope", "", "", 404,
			failure(`widgets.example.com \"nope\" not found`, `"reason":"NotFound","details":{"name":"nope","group":"example.com","kind":"widgets"},"code":404`)},
		{"get with a bad version", "GET", widgetPath + "/a?resourceVersion=abc", "", "", 500,
			failure(`resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax`, `"code":500`)},
		{"list with a bad version", "GET", widgetPath + "?resourceVersion=abc", "", "", 400,
			failure(`invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax`, `"reason":"BadRequest","code":400`)},
		{"list with a negative version", "GET", widgetPath + "?resourceVersion=-1", "", "", 400,
			failure(`invalid resource version: resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax`, `"reason":"BadRequest","code":400`)},
		{"continue with a version", "GET", widgetPath + "?limit=2&resourceVersion=7&continue=" + token, "", "", 400,
			failure(`specifying resource version is not allowed when using continue`, `"reason":"BadRequest","code":400`)},
		{"continue with garbage", "GET", widgetPath + "?limit=2&continue=abc", "", "", 400,
			failure(`invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value`, `"reason":"BadRequest","code":400`)},
		{"continue with garbage and a version", "GET", widgetPath + "?limit=2&resourceVersion=7&continue=abc", "", "", 400,
			failure(`invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value`, `"reason":"BadRequest","code":400`)},
		{"create of a list in YAML", "POST", widgetPath, "application/yaml", "- a\n", 400,
			failure(`the object provided is unrecognized (must be of type Widget): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (2d20610a)`, `"reason":"BadRequest","code":400`)},
		{"list exactly version 0", "GET", widgetPath + "?resourceVersion=0&resourceVersionMatch=Exact", "", "", 422,
			forbidden("resourceVersionMatch", `resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"`)},
		{"list with a match but no version", "GET", widgetPath + "?resourceVersionMatch=Exact", "", "", 422,
			forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")},
		{"list with a match and continue", "GET", widgetPath + "?resourceVersion=1&resourceVersionMatch=Exact&continue=" + token, "", "", 422,
			forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")},
		{"list with an unknown match", "GET", widgetPath + "?resourceVersion=1&resourceVersionMatch=Bogus", "", "", 422,
			list + `resourceVersionMatch: Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueNotSupported","message":"Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"","field":"resourceVersionMatch"}]},"code":422}`},
		{"list with sendInitialEvents", "GET", widgetPath + "?sendInitialEvents=true", "", "", 422,
			forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")},
		{"watch with sendInitialEvents but no match", "GET", widgetPath + "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true", "", "", 422,
			forbidden("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")},
		{"watch exactly", "GET", widgetPath + "?watch=1&resourceVersion=5&resourceVersionMatch=Exact", "", "", 422,
			list + `[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]","reason":"Invalid","details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided","field":"resourceVersionMatch"},{"reason":"FieldValueNotSupported","message":"Unsupported value: \"Exact\": supported values: \"NotOlderThan\"","field":"resourceVersionMatch"}]},"code":422}`},
		{"watch with a bad version", "GET", widgetPath + "?watch=1&resourceVersion=abc", "", "", 500,
			failure(`resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax`, `"code":500`)},
		{"a bad label selector", "GET", widgetPath + "?labelSelector=a==b==c", "", "", 400,
			failure(`found '==', expected: ',' or 'end of string'`, `"reason":"BadRequest","code":400`)},
		{"an unknown field", "GET", widgetPath + "?fieldSelector=spec.size%3D1", "", "", 400,
			failure(`field label not supported: spec.size`, `"reason":"BadRequest","code":400`)},
		{"a limit that is no number", "GET", widgetPath + "?limit=abc", "", "", 400,
			failure(`strconv.ParseInt: parsing \"abc\": invalid syntax`, `"reason":"BadRequest","code":400`)},
		{"a timeout that is none", "GET", widgetPath + "?timeout=abc", "", "", 400,
			failure(`invalid timeout specified in the request URL - time: invalid duration \"abc\"`, `"reason":"BadRequest","code":400`)},
		{"update without a version", "PUT", b, json, widgetJSON("b", "y", "blue"), 422,
			failure(`widgets.example.com \"b\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`, `"reason":"Invalid","details":{"name":"b","group":"example.com","kind":"widgets","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: 0: must be specified for an update","field":"metadata.resourceVersion"}]},"code":422`)},
		{"update of a stale object", "PUT", b, json, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","resourceVersion":"1"}}`, 409,
			failure(`Operation cannot be fulfilled on widgets.example.com \"b\": the object has been modified; please apply your changes to the latest version and try again`, `"reason":"Conflict","details":{"name":"b","group":"example.com","kind":"widgets"},"code":409`)},
		{"update under another name", "PUT", b, json, widgetJSON("c", "y", "blue"), 400,
			failure(`the name of the object (c) does not match the name on the URL (b)`, `"reason":"BadRequest","code":400`)},
		{"update of what is not there", "PUT", widgetPath + "/nope", json, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"nope","resourceVersion":"1"}}`, 404,
			failure(`widgets.example.com \"nope\" not found`, `"reason":"NotFound","details":{"name":"nope","group":"example.com","kind":"widgets"},"code":404`)},
		{"patch with a stale version", "PATCH", b, "application/merge-patch+json", `{"metadata":{"resourceVersion":"1"}}`, 409,
			failure(`Operation cannot be fulfilled on widgets.example.com \"b\": the object has been modified; please apply your changes to the latest version and try again`, `"reason":"Conflict","details":{"name":"b","group":"example.com","kind":"widgets"},"code":409`)},
		{"a JSON patch whose test fails", "PATCH", b, "application/json-patch+json", `[{"op":"test","path":"/spec/color","value":"none"}]`, 422,
			failure(`the server rejected our request due to an error in our request`, `"reason":"Invalid","details":{},"code":422`)},
		{"patch of what is not there", "PATCH", widgetPath + "/nope", "application/merge-patch+json", `{}`, 404,
			failure(`widgets.example.com \"nope\" not found`, `"reason":"NotFound","details":{"name":"nope","group":"example.com","kind":"widgets"},"code":404`)},
		{"delete with a version that has passed", "DELETE", b, json, `{"preconditions":{"resourceVersion":"1"}}`, 409,
			failure(`Operation cannot be fulfilled on Widget.example.com \"b\": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (<version>). The object might have been modified`, `"reason":"Conflict","details":{"name":"b","group":"example.com","kind":"Widget"},"code":409`)},
		{"delete of another identity", "DELETE", b, json, `{"preconditions":{"uid":"nope"}}`, 409,
			failure(`Operation cannot be fulfilled on Widget.example.com \"b\": the UID in the precondition (nope) does not match the UID in record (<uid>). The object might have been deleted and then recreated`, `"reason":"Conflict","details":{"name":"b","group":"example.com","kind":"Widget"},"code":409`)},
		{"delete of what is not there", "DELETE", widgetPath + "/nope", "", "", 404,
			failure(`widgets.example.com \"nope\" not found`, `"reason":"NotFound","details":{"name":"nope","group":"example.com","kind":"widgets"},"code":404`)},
		{"OPTIONS", "OPTIONS", widgetPath, "", "", 405,
			failure(` is not supported on resources of kind \"widgets.example.com\"`, `"reason":"MethodNotAllowed","details":{"group":"example.com","kind":"widgets"},"code":405`)},
		{"PUT to a collection", "PUT", widgetPath, json, "{}", 400,
			failure(`name must be provided`, `"reason":"BadRequest","code":400`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t)
				a.widget("a", "x", "red")
				b := a.widget("b", "y", "blue")
				var headers []string
				if c.contentType != "" {
					headers = []string{"Content-Type", c.contentType}
				}
				w := a.call(c.method, c.path, c.body, headers...)
				want := strings.NewReplacer("<uid>", text(b, "metadata", "uid"), "<version>", text(b, "metadata", "resourceVersion")).Replace(c.want)
				if w.Code != c.code || strings.TrimSpace(w.Body.String()) != want {
					t.Errorf("%s %s\n got %d %s\nwant %d %s", c.method, c.path, w.Code, w.Body, c.code, want)
				}
				if got := w.Header().Get("Cache-Control"); got != "no-cache, private" {
					t.Errorf("Cache-Control: %q", got)
				}
			})
		})
	}
}

func TestUnknownPathsArePlainText404s(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{
		"GET /", "GET /nope", "GET /apis/nope.example.com/v1/foos", "GET /apis/example.com/v2/widgets",
		"GET /apis/example.com/v1/gadgets", "GET /apis/example.com/v1/widgets/a", "POST /apis/example.com/v1/widgets",
		"GET " + widgetPath + "/a/scale", "GET " + widgetPath + "/a/status/x", "GET " + widgetPath + "//status",
		"GET /apis//v1/pods", "GET /apis/nope", "GET /apis/example.com/v2",
	} {
		method, url, _ := strings.Cut(path, " ")
		w := a.call(method, url, "{}")
		if w.Code != http.StatusNotFound || w.Body.String() != "404 page not found\n" || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %d %q %q", path, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestUnknownPathsOfBuiltinGroupsAreStatuses(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{
		"GET /api/v1/namespaces/default/nodes", "GET /api/v1/namespaces//pods", "GET /api/v2/pods", "GET /api/v1/foos",
		"GET /api/v1/namespaces/a/pods/b/status/c/d", "GET /api/v1/namespaces/default/configmaps/a/status",
		"GET /api/v1/configmaps/a", "GET /apis/apps/v9/deployments",
	} {
		method, url, _ := strings.Cut(path, " ")
		w := a.call(method, url, "{}")
		const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`
		if w.Code != http.StatusNotFound || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestMethodsThatBuiltinResourcesDoNotHave(t *testing.T) {
	a := newAPI(t)
	const maps = "/api/v1/namespaces/default/configmaps"
	for _, path := range []string{
		"POST " + maps + "/a", "PUT " + maps, "PATCH " + maps, "HEAD " + maps + "/a", "OPTIONS " + maps,
		"POST /api/v1/configmaps", "DELETE /api/v1/configmaps", "DELETE /apis/apps/v1/namespaces/default/deployments/a/status",
	} {
		method, url, _ := strings.Cut(path, " ")
		w := a.call(method, url, "{}")
		const want = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}`
		if w.Code != http.StatusMethodNotAllowed || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestATimeoutIsPlainTextWithAStatusWithoutKind(t *testing.T) {
	a := newAPI(t)
	w := a.call(http.MethodGet, widgetPath+"?timeout=1ns", "")
	const want = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}`
	if w.Code != http.StatusGatewayTimeout || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Body.String() != want {
		t.Errorf("%d %q %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
}
