package e2e

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// maxBody is the limit of kube-apiserver for the body of a request.
const maxBody = 3 << 20

// huge is a config map whose JSON is just over the limit.
var huge = jsonOf("ConfigMap", `"name":"huge"`, `"data":{"k":"`+strings.Repeat("x", maxBody)+`"}`)

// token makes a continue token.
func token(content string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(content))
}

// inputs are requests that make no sense, or only just.
func inputs() []exchange {
	const yaml = "application/yaml"
	all := []exchange{
		{does: "create", send: "POST {cm}", body: configMap(`"name":"a","labels":{"app":"x"}`), keep: "a"},
		{does: "create another", send: "POST {cm}", body: configMap(`"name":"b"`), keep: "b"},

		{does: "protobuf without its prefix", send: "POST {cm}", as: protobufType, body: "hello"},
		{does: "protobuf that is none", send: "POST {cm}", as: protobufType, body: "k8s\x00hello"},
		{does: "protobuf that is empty", send: "POST {cm}", as: protobufType, body: "k8s\x00"},
		{does: "protobuf of nothing", send: "POST {cm}", as: protobufType},
		{does: "protobuf that is JSON", send: "POST {cm}", as: protobufType, body: configMap(`"name":"z"`)},
		{does: "broken YAML", send: "POST {cm}", as: yaml, body: "a: b: c"},
		{does: "YAML with a tab", send: "POST {cm}", as: yaml, body: "metadata:\n\tname: z\n"},
		{does: "a list in YAML", send: "POST {cm}", as: yaml, body: "- a\n- b\n"},
		{does: "JSON that is null", send: "POST {cm}", body: `null`},
		{does: "JSON that is a number", send: "POST {cm}", body: `5`},
		{does: "JSON and more", send: "POST {cm}", body: configMap(`"name":"z"`) + `}`},
		{does: "a content type with a charset", send: "POST {cm}?dryRun=All", as: "application/json; charset=utf-8", body: configMap(`"name":"z"`)},
		{does: "a broken content type", send: "POST {cm}", as: "application/json;;=", body: configMap(`"name":"z"`)},
		{does: "metadata that is text", send: "POST {cm}", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}`},
		{does: "a label that is a number", send: "POST {cm}", body: configMap(`"name":"z","labels":{"a":1}`)},
		{does: "a kind that is a number", send: "POST {cm}", body: `{"apiVersion":"v1","kind":7}`},
		{does: "a huge create", send: "POST {cm}", body: huge},
		{does: "a huge update", send: "PUT {cm}/a", body: huge},
		{does: "a huge patch", send: "PATCH {cm}/a", as: mergePatch, body: huge},
		{does: "a huge delete", send: "DELETE {cm}/a", body: huge},
		{does: "a patch of too many operations", send: "PATCH {cm}/a", as: jsonPatch,
			body: "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10_000) + `{"op":"test","path":"/kind","value":"ConfigMap"}]`},
		{does: "a name that is too long", send: "POST {cm}", body: configMap(`"name":"` + strings.Repeat("n", 300) + `"`)},
		{does: "a name with a slash", send: "POST {cm}", body: configMap(`"name":"a/b"`)},
		{does: "a name of dots", send: "POST {cm}", body: configMap(`"name":".."`)},
		{does: "a manager that is too long", send: "POST {cm}?dryRun=All&fieldManager=" + strings.Repeat("m", 200), body: configMap(`"name":"z"`)},
		{does: "a manager that cannot be printed", send: "POST {cm}?dryRun=All&fieldManager=%01", body: configMap(`"name":"z"`)},
		{does: "an unknown parameter of a create", send: "POST {cm}?dryRun=All&foo=bar", body: configMap(`"name":"z"`)},

		{does: "a name in capitals", send: "GET {cm}/A_b"},
		{does: "a name with an escaped slash", send: "GET {cm}/a%2Fb"},
		{does: "a namespace in capitals", send: "GET /api/v1/namespaces/A_B/configmaps"},
		{does: "an unknown parameter of a get", send: "GET {cm}/a?foo=bar"},
		{does: "a match for a get", send: "GET {cm}/a?resourceVersionMatch=Exact"},
		{does: "a get that is pretty, perhaps", send: "GET {cm}/a?pretty=maybe"},
		{does: "an unknown parameter of a delete", send: "DELETE {cm}/nope?foo=bar"},
		{does: "a bad policy of a delete", send: "DELETE {cm}/a?propagationPolicy=Bogus"},
		{does: "a bad grace period", send: "DELETE {cm}/a?gracePeriodSeconds=abc"},
		{does: "a bad boolean of a delete", send: "DELETE {cm}/a?orphanDependents=maybe"},
	}
	for _, query := range []string{
		"foo=bar", "limit=9223372036854775807", "limit=9223372036854775808", "limit=1.5", "limit=", "limit=1&limit=2",
		"timeoutSeconds=-5", "timeoutSeconds=0", "timeout=-1s", "timeout=1h", "timeout=5", "timeout=", "watch=0", "watch=false",
		"allowWatchBookmarks=maybe", "continue=", "resourceVersion=01", "resourceVersion=18446744073709551616", "resourceVersion=0x1",
	} {
		all = append(all, exchange{does: "list with " + query, send: "GET {cm}?" + query})
	}
	for _, content := range []string{
		`{"v":"meta.k8s.io/v1","rv":5`, `{"v":"meta.k8s.io/v2","rv":5,"start":"a\u0000"}`, `{"rv":5,"start":"a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":0,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-2,"start":"a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":"5","start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":""}`,
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"../secrets/a"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"/a/../../b"}`,
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"/a\u0000"}`,
		`{"v":"meta.k8s.io/v1","rv":-1,"start":"zzz"}`, `{"v":"meta.k8s.io/v1","rv":99999999,"start":"a\u0000"}`, `null`, `[]`, `5`,
	} {
		all = append(all, exchange{does: "continue from " + content, send: "GET {cm}?limit=1&continue=" + token(content)})
	}
	for _, selector := range []string{
		"a in ()", "a in b", "a in (b", "!", ",", "a,", ",a", "a>x", "a>1", "a notin", "-a=b", "a=-b", "a=" + strings.Repeat("b", 64), "a/b/c=d", "app=x,app=y", "app==x", "app!=x", "(a)", "app = x ",
	} {
		all = append(all, exchange{does: "labels " + selector, send: "GET {cm}?labelSelector=" + url.QueryEscape(selector)})
	}
	for _, selector := range []string{
		"metadata.name", "=", "=a", "metadata.name in (a)", "metadata.name=a,metadata.name=b", "metadata.name==a", `metadata.name=a\`, `metadata.name=a\,b`,
		"metadata.name=", "metadata.name!=", ",", "metadata.name=a,", "metadata.uid=x", " metadata.name=a",
	} {
		all = append(all, exchange{does: "fields " + selector, send: "GET {cm}?fieldSelector=" + url.QueryEscape(selector)})
	}
	return all
}

// versions are all combinations of what says which state a list or a watch is
// about.
func versions() []exchange {
	all := []exchange{
		{does: "create", send: "POST {cm}", body: configMap(`"name":"a"`), keep: "a"},
		{does: "create the second", send: "POST {cm}", body: configMap(`"name":"b"`), keep: "b"},
		{does: "the first page", send: "GET {cm}?limit=1", keep: "page"},
		{does: "create the third", send: "POST {cm}", body: configMap(`"name":"c"`), keep: "c"},
		{does: "delete the first", send: "DELETE {cm}/a"},
	}
	combine := func(does, query string, parameters ...[]string) {
		queries := []string{query}
		for _, values := range parameters {
			var longer []string
			for _, q := range queries {
				longer = append(longer, q)
				for _, value := range values {
					longer = append(longer, q+"&"+value)
				}
			}
			queries = longer
		}
		for _, q := range queries {
			all = append(all, exchange{does: fmt.Sprintf("%s %s", does, q), send: "GET {cm}?" + q, together: true})
		}
	}
	combine("list", "pretty=0",
		[]string{"resourceVersion=0", "resourceVersion={b.rv}", "resourceVersion=99999999", "resourceVersion=abc"},
		[]string{"resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Bogus"},
		[]string{"limit=1", "limit=-1"},
		[]string{"continue={page.continue}", "continue=abc"})
	combine("watch", "watch=1&timeoutSeconds=4",
		[]string{"resourceVersion=0", "resourceVersion={b.rv}", "resourceVersion=99999999", "resourceVersion=abc"},
		[]string{"resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan"},
		[]string{"sendInitialEvents=true", "sendInitialEvents=false"},
		[]string{"allowWatchBookmarks=true"},
		[]string{"limit=1&continue=abc"})
	return all
}
