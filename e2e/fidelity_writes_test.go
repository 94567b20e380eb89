package e2e

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)

// Reasons for known differences.
const (
	internals = "quotes Go types of kube-apiserver"
	noApply   = "there is no server-side apply"
	noTables  = "there are no tables"
	// A client that sends such a path has lost its namespace.
	emptyNamespace = "an empty namespace in a path is no namespace"
)

// jsonOf writes an object: metadata and the rest are the inner parts of JSON.
func jsonOf(kind, metadata, rest string) string {
	version := map[string]string{"Deployment": "apps/v1", "Lease": "coordination.k8s.io/v1", "Role": "rbac.authorization.k8s.io/v1"}[kind]
	if version == "" {
		version = "v1"
	}
	if rest != "" {
		rest = "," + rest
	}
	return `{"apiVersion":"` + version + `","kind":"` + kind + `","metadata":{` + metadata + `}` + rest + `}`
}

func configMap(metadata string) string { return jsonOf("ConfigMap", metadata, `"data":{"k":"v"}`) }

// Pods, deployments and nodes are sent with all their defaults, which ours does
// not set.
const (
	podSpec = `"containers":[{"name":"c","image":"i","resources":{},"terminationMessagePath":"/dev/termination-log",` +
		`"terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always",` +
		`"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"`
	admittedSpec = podSpec + `,"enableServiceLinks":true,"priority":0,"preemptionPolicy":"PreemptLowerPriority","tolerations":[` +
		`{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},` +
		`{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]`
	deploymentRest = `"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{` + podSpec + `}},` +
		`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},` +
		`"revisionHistoryLimit":10,"progressDeadlineSeconds":600`
)

func pod(metadata string) string {
	return jsonOf("Pod", metadata, `"spec":{`+admittedSpec+`}`)
}

func deployment(metadata, replicas string) string {
	return jsonOf("Deployment", metadata, `"spec":{"replicas":`+replicas+`,`+deploymentRest+`}`)
}

// group is a list of exchanges in one namespace.
type group struct {
	name      string
	exchanges []exchange
}

func exchanges() []group {
	return []group{
		{"create", creates}, {"update", updates}, {"patch", patches}, {"delete", deletes},
		{"finalizers", finalizers}, {"status", statuses}, {"kinds", sampled()}, {"get", gets}, {"list", lists}, {"watch", watches},
		{"input", inputs()}, {"versions", versions()},
	}
}

var creates = []exchange{
	{does: "create", send: "POST {cm}", body: configMap(`"name":"a"`)},
	{does: "create again", send: "POST {cm}", body: configMap(`"name":"a"`)},
	{does: "create with what the server owns", send: "POST {cm}", body: configMap(`"name":"owned","uid":"x","generation":7,"selfLink":"/x","creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5`)},
	{does: "create with a version", send: "POST {cm}", body: configMap(`"name":"b","resourceVersion":"5"`)},
	{does: "create with broken JSON", send: "POST {cm}", body: `{"apiVersion":`},
	{does: "create with text", send: "POST {cm}", body: `hello`},
	{does: "create with a list", send: "POST {cm}", body: `[]`},
	{does: "create with nothing", send: "POST {cm}", as: "application/json"},
	{does: "create of another kind", send: "POST {cm}", body: jsonOf("Secret", `"name":"b"`, ""), known: differ{"message": internals}},
	{does: "create of an unknown kind", send: "POST {cm}", body: jsonOf("Foo", `"name":"b"`, "")},
	{does: "create of another version", send: "POST {cm}", body: jsonOf("Deployment", `"name":"b"`, ""), known: differ{"message": internals}},
	{does: "create without a kind", send: "POST {cm}", body: `{"metadata":{"name":"kindless"}}`},
	{does: "create in another namespace", send: "POST {cm}", body: configMap(`"name":"b","namespace":"other"`)},
	{does: "create without a name", send: "POST {cm}", body: configMap(``)},
	{does: "create with a bad name", send: "POST {cm}", body: configMap(`"name":"A_b"`)},
	// One bad label at a time: several are told in the order of a map.
	{does: "create with a bad label", send: "POST {cm}", body: configMap(`"name":"b","labels":{"a b":"c"}`)},
	{does: "create with a bad value of a label", send: "POST {cm}", body: configMap(`"name":"b","labels":{"d":"e f"}`)},
	{does: "create with bad annotations", send: "POST {cm}", body: configMap(`"name":"b","annotations":{"a b":"c"}`)},
	{does: "create with a bad finalizer", send: "POST {cm}", body: configMap(`"name":"b","finalizers":["x"]`)},
	{does: "create with a bad owner", send: "POST {cm}", body: configMap(`"name":"b","ownerReferences":[{"kind":"X"}]`)},
	{does: "create at a name", send: "POST {cm}/b", body: configMap(`"name":"b"`)},
	{does: "create in all namespaces", send: "POST /api/v1/configmaps", body: configMap(`"name":"b"`)},
	{does: "create with a field of the wrong type", send: "POST {cm}", body: jsonOf("ConfigMap", `"name":"b"`, `"data":5`)},
	{does: "create with an unknown field", send: "POST {cm}", body: jsonOf("ConfigMap", `"name":"warned"`, `"foo":5`)},
	{does: "create with an unknown field, ignored", send: "POST {cm}?fieldValidation=Ignore", body: jsonOf("ConfigMap", `"name":"ignored"`, `"foo":5`)},
	{does: "create with an unknown field, strictly", send: "POST {cm}?fieldValidation=Strict", body: jsonOf("ConfigMap", `"name":"b"`, `"foo":5`)},
	{does: "create with a double field, strictly", send: "POST {cm}?fieldValidation=Strict", body: jsonOf("ConfigMap", `"name":"b"`, `"data":{},"data":{}`)},
	{does: "create with a bad field validation", send: "POST {cm}?fieldValidation=Bogus", body: configMap(`"name":"b"`)},
	{does: "create as text", send: "POST {cm}", as: "text/foo", body: configMap(`"name":"b"`)},
	{does: "create as YAML", send: "POST {cm}", as: "application/yaml", body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\n", accept: "application/yaml"},
	{does: "create as broken YAML", send: "POST {cm}", as: "application/yaml", body: "a: b: c"},
	{does: "create dryly", send: "POST {cm}?dryRun=All", body: configMap(`"name":"dry"`)},
	{does: "get what was created dryly", send: "GET {cm}/dry"},
	{does: "create dryly what is there", send: "POST {cm}?dryRun=All", body: configMap(`"name":"a"`)},
	{does: "create with a bad dryRun", send: "POST {cm}?dryRun=Some", body: configMap(`"name":"dry"`)},
	{does: "create by generateName", send: "POST {cm}", body: configMap(`"generateName":"gen-"`), keep: "gen"},
	{does: "create dryly by generateName", send: "POST {cm}?dryRun=All", body: configMap(`"generateName":"gen-"`)},
	{does: "create by a bad generateName", send: "POST {cm}", body: configMap(`"generateName":"A_"`)},
	{does: "create a pod", send: "POST {pods}", body: pod(`"name":"p"`)},
	{does: "create a deployment", send: "POST {deps}", body: deployment(`"name":"d"`, "1")},
	{does: "create a secret", send: "POST {secrets}", body: jsonOf("Secret", `"name":"s"`, `"type":"Opaque","data":{"k":"dg=="}`)},
	{does: "create a secret with a bad value", send: "POST {secrets}", body: jsonOf("Secret", `"name":"s2"`, `"type":"Opaque","data":{"k":"%"}`)},
	{does: "create a node", send: "POST /api/v1/nodes", body: jsonOf("Node", `"name":"fidelity-node"`, `"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}`)},
	{does: "create a node in a namespace", send: "POST {self}/nodes", body: jsonOf("Node", `"name":"fidelity-node2"`, "")},
	{does: "create a node that names a namespace", send: "POST /api/v1/nodes", body: jsonOf("Node", `"name":"fidelity-node3","namespace":"default"`, `"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]}`)},
	{does: "create a role with a name for paths", send: "POST {roles}", body: jsonOf("Role", `"name":"A:b"`, `"rules":[]`)},
	{does: "create a lease", send: "POST {leases}", body: jsonOf("Lease", `"name":"l"`, `"spec":{"holderIdentity":"x"}`)},
	{does: "create a namespace", send: "POST /api/v1/namespaces", body: jsonOf("Namespace", `"name":"fidelity-made"`, ""), known: differ{"spec": "has no finalizer, as nobody is there to remove it"}},
	{does: "delete a namespace", send: "DELETE /api/v1/namespaces/fidelity-made", known: differ{"body": "it is not kept for a controller to empty it"}},
	{does: "create in a namespace that is not there", send: "POST /api/v1/namespaces/fidelity-none/configmaps", body: configMap(`"name":"b"`), known: differ{"code": "namespaces need not exist", "body": "namespaces need not exist"}},
}

var updates = []exchange{
	{does: "create", send: "POST {cm}", body: configMap(`"name":"a"`), keep: "old"},
	{does: "update", send: "PUT {cm}/a", body: configMap(`"name":"a","resourceVersion":"{old.rv}","labels":{"x":"y"}`), keep: "a"},
	{does: "update from an old version", send: "PUT {cm}/a", body: configMap(`"name":"a","resourceVersion":"{old.rv}"`)},
	{does: "update from a bad version", send: "PUT {cm}/a", body: configMap(`"name":"a","resourceVersion":"abc"`)},
	{does: "update without a version", send: "PUT {cm}/a", body: configMap(`"name":"a"`), keep: "a"},
	{does: "update to the same", send: "PUT {cm}/a", body: configMap(`"name":"a"`)},
	{does: "update of another name", send: "PUT {cm}/a", body: configMap(`"name":"b"`)},
	{does: "update of another namespace", send: "PUT {cm}/a", body: configMap(`"name":"a","namespace":"other"`)},
	{does: "update without a name", send: "PUT {cm}/a", body: configMap(``)},
	{does: "update of another UID", send: "PUT {cm}/a", body: configMap(`"name":"a","uid":"00000000-0000-0000-0000-000000000000"`), known: differ{"message": "quotes the key in etcd"}},
	{does: "update of another kind", send: "PUT {cm}/a", body: jsonOf("Secret", `"name":"a"`, ""), known: differ{"message": internals}},
	{does: "update of what is not there", send: "PUT {cm}/b", body: configMap(`"name":"b"`)},
	{does: "update of what is not there, with a version", send: "PUT {cm}/b", body: configMap(`"name":"b","resourceVersion":"5"`)},
	{does: "update with bad labels", send: "PUT {cm}/a", body: configMap(`"name":"a","labels":{"a b":"c"}`)},
	{does: "update of what the server owns", send: "PUT {cm}/a", body: configMap(`"name":"a","generation":7,"creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5`)},
	{does: "update dryly", send: "PUT {cm}/a?dryRun=All", body: configMap(`"name":"a","labels":{"x":"z"}`)},
	{does: "get after the dry update", send: "GET {cm}/a"},
	{does: "update with a bad dryRun", send: "PUT {cm}/a?dryRun=Some", body: configMap(`"name":"a"`)},
	{does: "update of a collection", send: "PUT {cm}", body: configMap(`"name":"a"`)},
	{does: "update with broken JSON", send: "PUT {cm}/a", body: `{`},
	{does: "update as text", send: "PUT {cm}/a", as: "text/plain", body: configMap(`"name":"a"`)},
	{does: "update with an unknown field", send: "PUT {cm}/a", body: jsonOf("ConfigMap", `"name":"a"`, `"data":{"k":"w"},"foo":1`)},
	{does: "update that creates", send: "PUT {leases}/l", body: jsonOf("Lease", `"name":"l"`, `"spec":{"holderIdentity":"x"}`), keep: "l"},
	{does: "update without a version where one is needed", send: "PUT {leases}/l", body: jsonOf("Lease", `"name":"l"`, `"spec":{"holderIdentity":"y"}`)},
	{does: "update with a version where one is needed", send: "PUT {leases}/l", body: jsonOf("Lease", `"name":"l","resourceVersion":"{l.rv}"`, `"spec":{"holderIdentity":"y"}`)},
	{does: "update that creates dryly", send: "PUT {leases}/m?dryRun=All", body: jsonOf("Lease", `"name":"m"`, `"spec":{"holderIdentity":"x"}`)},
	{does: "update that creates, with a version", send: "PUT {leases}/m", body: jsonOf("Lease", `"name":"m","resourceVersion":"5"`, `"spec":{"holderIdentity":"x"}`)},
	{does: "create a deployment", send: "POST {deps}", body: deployment(`"name":"d"`, "1")},
	{does: "update the metadata of a deployment", send: "PUT {deps}/d", body: deployment(`"name":"d","labels":{"x":"y"}`, "1")},
	{does: "update the annotations of a deployment", send: "PUT {deps}/d", body: deployment(`"name":"d","labels":{"x":"y"},"annotations":{"a":"b"}`, "1"), keep: "d"},
	{does: "update the spec of a deployment", send: "PUT {deps}/d", body: deployment(`"name":"d","labels":{"x":"y"}`, "2")},
	{does: "update a deployment to the same", send: "PUT {deps}/d", body: deployment(`"name":"d","labels":{"x":"y"}`, "2")},
	{does: "update a deployment dryly", send: "PUT {deps}/d?dryRun=All", body: deployment(`"name":"d","labels":{"x":"y"}`, "3")},
}

var patches = []exchange{
	{does: "create", send: "POST {cm}", body: configMap(`"name":"a"`), keep: "old"},
	{does: "JSON patch", send: "PATCH {cm}/a", as: jsonPatch, body: `[{"op":"test","path":"/data/k","value":"v"},{"op":"add","path":"/data/l","value":"w"}]`},
	{does: "JSON patch with a failing test", send: "PATCH {cm}/a", as: jsonPatch, body: `[{"op":"test","path":"/data/k","value":"nope"}]`},
	{does: "JSON patch of a field that is not there", send: "PATCH {cm}/a", as: jsonPatch, body: `[{"op":"replace","path":"/data/nope","value":"x"}]`},
	{does: "JSON patch that removes a field that is not there", send: "PATCH {cm}/a", as: jsonPatch, body: `[{"op":"remove","path":"/data/nope"}]`},
	{does: "JSON patch of an unknown operation", send: "PATCH {cm}/a", as: jsonPatch, body: `[{"op":"nope","path":"/data/nope"}]`},
	{does: "JSON patch that is none", send: "PATCH {cm}/a", as: jsonPatch, body: `{"data":{}}`, known: differ{"message": internals}},
	{does: "JSON patch with broken JSON", send: "PATCH {cm}/a", as: jsonPatch, body: `[`},
	{does: "JSON patch with nothing", send: "PATCH {cm}/a", as: jsonPatch},
	{does: "merge patch", send: "PATCH {cm}/a", as: mergePatch, body: `{"data":{"k":null,"m":"n"}}`},
	{does: "merge patch to the same", send: "PATCH {cm}/a", as: mergePatch, body: `{"data":{"m":"n"}}`},
	{does: "merge patch with a list", send: "PATCH {cm}/a", as: mergePatch, body: `[]`},
	{does: "merge patch with broken JSON", send: "PATCH {cm}/a", as: mergePatch, body: `{`},
	{does: "merge patch of the wrong type", send: "PATCH {cm}/a", as: mergePatch, body: `{"data":5}`},
	{does: "merge patch from an old version", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"resourceVersion":"{old.rv}"},"data":{"x":"y"}}`},
	{does: "merge patch of the name", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"name":"b"}}`},
	{does: "merge patch of the namespace", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"namespace":"b"}}`},
	{does: "merge patch of the UID", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}}`},
	{does: "merge patch of the kind", send: "PATCH {cm}/a", as: mergePatch, body: `{"kind":"Secret"}`},
	{does: "merge patch of the version", send: "PATCH {cm}/a", as: mergePatch, body: `{"apiVersion":"v2"}`},
	{does: "merge patch with an unknown field", send: "PATCH {cm}/a", as: mergePatch, body: `{"foo":1}`},
	{does: "merge patch with an unknown field, strictly", send: "PATCH {cm}/a?fieldValidation=Strict", as: mergePatch, body: `{"foo":1}`},
	{does: "merge patch with bad labels", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"labels":{"a b":"c"}}}`},
	{does: "merge patch of what is not there", send: "PATCH {cm}/b", as: mergePatch, body: `{}`},
	{does: "merge patch dryly", send: "PATCH {cm}/a?dryRun=All", as: mergePatch, body: `{"data":{"dry":"x"}}`},
	{does: "merge patch of a collection", send: "PATCH {cm}", as: mergePatch, body: `{}`},
	{does: "merge patch with force", send: "PATCH {cm}/a?force=true", as: mergePatch, body: `{}`},
	{does: "strategic merge patch", send: "PATCH {cm}/a", as: strategicPatch, body: `{"data":{"s":"t"}}`},
	{does: "strategic merge patch with broken JSON", send: "PATCH {cm}/a", as: strategicPatch, body: `{`},
	{does: "strategic merge patch with a list", send: "PATCH {cm}/a", as: strategicPatch, body: `[]`},
	{does: "strategic merge patch of the wrong type", send: "PATCH {cm}/a", as: strategicPatch, body: `{"data":5}`},
	{does: "strategic merge patch with an unknown field, strictly", send: "PATCH {cm}/a?fieldValidation=Strict", as: strategicPatch, body: `{"foo":1}`},
	{does: "a patch of an unknown type", send: "PATCH {cm}/a", as: "application/foo", body: `{}`},
	{does: "a patch of no type", send: "PATCH {cm}/a"},
	{does: "a patch that is an object", send: "PATCH {cm}/a", as: "application/json", body: `{}`},
	{does: "apply", send: "PATCH {cm}/a?fieldManager=me", as: "application/apply-patch+yaml", body: `{"apiVersion":"v1","kind":"ConfigMap"}`, known: differ{"code": noApply, "body": noApply}},
	{does: "create a deployment", send: "POST {deps}", body: deployment(`"name":"d"`, "1")},
	{does: "strategic merge patch of a list", send: "PATCH {deps}/d", as: strategicPatch, body: `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}`},
	{does: "strategic merge patch without a key", send: "PATCH {deps}/d", as: strategicPatch, body: `{"spec":{"template":{"spec":{"containers":[{"image":"j"}]}}}}`},
	{does: "merge patch of a label of a deployment", send: "PATCH {deps}/d", as: mergePatch, body: `{"metadata":{"labels":{"x":"y"}}}`},
	{does: "merge patch of the generation", send: "PATCH {deps}/d", as: mergePatch, body: `{"metadata":{"generation":9}}`},
	{does: "merge patch of the status outside the subresource", send: "PATCH {deps}/d", as: mergePatch, body: `{"status":{"replicas":3}}`},
}

var deletes = []exchange{
	{does: "create", send: "POST {cm}", body: configMap(`"name":"a"`), keep: "a"},
	{does: "delete dryly", send: "DELETE {cm}/a?dryRun=All"},
	{does: "delete with a bad dryRun", send: "DELETE {cm}/a?dryRun=Some"},
	{does: "delete with another UID", send: "DELETE {cm}/a", body: `{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`},
	{does: "delete with another version", send: "DELETE {cm}/a", body: `{"preconditions":{"resourceVersion":"1"}}`},
	{does: "delete with a bad policy", send: "DELETE {cm}/a?propagationPolicy=Bogus"},
	{does: "delete with two policies", send: "DELETE {cm}/a?propagationPolicy=Orphan&orphanDependents=true"},
	{does: "delete with broken options", send: "DELETE {cm}/a", body: `{`},
	{does: "delete with options of another kind", send: "DELETE {cm}/a", body: `{"apiVersion":"v1","kind":"Pod"}`},
	{does: "delete with options as text", send: "DELETE {cm}/a", as: "text/plain", body: `{}`},
	{does: "delete with a bad parameter", send: "DELETE {cm}/a?gracePeriodSeconds=abc"},
	{does: "delete with the right preconditions", send: "DELETE {cm}/a", body: `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"{a.uid}","resourceVersion":"{a.rv}"}}`},
	{does: "delete twice", send: "DELETE {cm}/a"},
	{does: "get what is deleted", send: "GET {cm}/a"},
	{does: "create in the background", send: "POST {cm}", body: configMap(`"name":"bg"`)},
	{does: "delete in the background", send: "DELETE {cm}/bg?propagationPolicy=Background"},
	{does: "create a pod", send: "POST {pods}", body: pod(`"name":"p"`), keep: "p"},
	{does: "delete a pod", send: "DELETE {pods}/p"},
	{does: "create a pod on a node", send: "POST {pods}", body: jsonOf("Pod", `"name":"p"`, `"spec":{"nodeName":"fidelity-node",`+admittedSpec+`}`)},
	{does: "delete a pod on a node", send: "DELETE {pods}/p"},
	{does: "delete a pod on a node again", send: "DELETE {pods}/p"},
	{does: "delete a pod on a node in less time", send: "DELETE {pods}/p?gracePeriodSeconds=5"},
	{does: "delete a pod on a node in a negative time", send: "DELETE {pods}/p?gracePeriodSeconds=-1"},
	{does: "delete a pod on a node at once", send: "DELETE {pods}/p?gracePeriodSeconds=0"},
	{does: "watch the pods", send: "GET {pods}?watch=1&timeoutSeconds=1&resourceVersion={p.rv}"},
	{does: "create a service account", send: "POST {self}/serviceaccounts", body: jsonOf("ServiceAccount", `"name":"s"`, "")},
	{does: "delete what is returned", send: "DELETE {self}/serviceaccounts/s"},
	{does: "create a deployment", send: "POST {deps}", body: deployment(`"name":"d"`, "1")},
	{does: "delete a deployment", send: "DELETE {deps}/d"},
	{does: "create the first", send: "POST {cm}", body: configMap(`"name":"x1","labels":{"app":"x"}`)},
	{does: "create the second", send: "POST {cm}", body: configMap(`"name":"x2","labels":{"app":"x"}`)},
	{does: "create the third", send: "POST {cm}", body: configMap(`"name":"x3","labels":{"app":"y"}`)},
	{does: "create the fourth", send: "POST {cm}", body: configMap(`"name":"x4","labels":{"app":"y"},"finalizers":["example.com/f"]`)},
	{does: "delete some dryly", send: "DELETE {cm}?labelSelector=app%3Dx&dryRun=All"},
	{does: "delete some by a bad selector", send: "DELETE {cm}?labelSelector=a==b==c"},
	{does: "delete some by labels", send: "DELETE {cm}?labelSelector=app%3Dx"},
	{does: "list the rest", send: "GET {cm}"},
	{does: "delete some by name", send: "DELETE {cm}?fieldSelector=metadata.name%3Dx3"},
	{does: "delete the rest", send: "DELETE {cm}"},
	{does: "delete the rest again", send: "DELETE {cm}"},
	{does: "list what is left", send: "GET {cm}"},
	{does: "delete nothing", send: "DELETE {secrets}"},
	{does: "delete from YAML options", send: "DELETE {cm}/x4", as: "application/yaml", body: "kind: DeleteOptions\napiVersion: v1\n"},
	{does: "watch the deletes", send: "GET {cm}?watch=1&timeoutSeconds=1&resourceVersion={a.rv}"},
	{does: "delete a page", send: "DELETE {pods}?limit=1"},
	{does: "delete in all namespaces", send: "DELETE /api/v1/configmaps"},
	{does: "delete a node that is not there", send: "DELETE /api/v1/nodes/nope"},
}

var finalizers = []exchange{
	{does: "create", send: "POST {cm}", body: configMap(`"name":"a","finalizers":["example.com/f"]`), keep: "a"},
	{does: "delete dryly", send: "DELETE {cm}/a?dryRun=All"},
	{does: "delete", send: "DELETE {cm}/a"},
	{does: "get what is marked", send: "GET {cm}/a"},
	{does: "delete again", send: "DELETE {cm}/a"},
	{does: "create what is marked", send: "POST {cm}", body: configMap(`"name":"a"`)},
	{does: "change what is marked", send: "PATCH {cm}/a", as: mergePatch, body: `{"data":{"x":"y"}}`},
	{does: "add a finalizer to what is marked", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"finalizers":["example.com/f","example.com/g"]}}`},
	{does: "unmark", send: "PUT {cm}/a", body: configMap(`"name":"a","finalizers":["example.com/f"]`)},
	{does: "remove the finalizer dryly", send: "PATCH {cm}/a?dryRun=All", as: mergePatch, body: `{"metadata":{"finalizers":null}}`},
	{does: "remove the finalizer", send: "PATCH {cm}/a", as: mergePatch, body: `{"metadata":{"finalizers":null}}`},
	{does: "get what has gone", send: "GET {cm}/a"},
	{does: "create what is to be orphaned", send: "POST {deps}", body: deployment(`"name":"o"`, "1"), keep: "o"},
	{does: "delete and orphan", send: "DELETE {deps}/o?propagationPolicy=Orphan"},
	{does: "delete in the background afterwards", send: "DELETE {deps}/o?propagationPolicy=Background"},
	{does: "get after the background", send: "GET {deps}/o"},
	{does: "create what goes last", send: "POST {deps}", body: deployment(`"name":"f"`, "1")},
	{does: "delete in the foreground", send: "DELETE {deps}/f", body: `{"propagationPolicy":"Foreground"}`},
	{does: "delete in the foreground again", send: "DELETE {deps}/f", body: `{"propagationPolicy":"Foreground"}`},
	{does: "remove the finalizer by an update", send: "PUT {deps}/f", body: deployment(`"name":"f"`, "1")},
	{does: "get what was updated away", send: "GET {deps}/f"},
	{does: "create a pod with a finalizer", send: "POST {pods}", body: pod(`"name":"p","finalizers":["example.com/f"]`), keep: "p"},
	{does: "delete a pod with a finalizer", send: "DELETE {pods}/p"},
	{does: "remove the finalizer of a pod", send: "PATCH {pods}/p", as: jsonPatch, body: `[{"op":"remove","path":"/metadata/finalizers"}]`},
	{does: "get the pod", send: "GET {pods}/p"},
	{does: "watch the config maps", send: "GET {cm}?watch=1&timeoutSeconds=1&resourceVersion={a.rv}"},
	{does: "watch the deployments", send: "GET {deps}?watch=1&timeoutSeconds=1&resourceVersion={o.rv}"},
	{does: "watch the pods", send: "GET {pods}?watch=1&timeoutSeconds=1&resourceVersion={p.rv}"},
}

var statuses = []exchange{
	{does: "create with a status", send: "POST {deps}", body: jsonOf("Deployment", `"name":"d"`, `"status":{"replicas":3},"spec":{"replicas":1,`+deploymentRest+`}`), keep: "old"},
	{does: "get the status", send: "GET {deps}/d/status"},
	{does: "put the status", send: "PUT {deps}/d/status", body: jsonOf("Deployment", `"name":"d"`, `"status":{"replicas":3},"spec":{"replicas":9,`+deploymentRest+`}`)},
	{does: "put the status from an old version", send: "PUT {deps}/d/status", body: jsonOf("Deployment", `"name":"d","resourceVersion":"{old.rv}"`, `"status":{"replicas":4},"spec":{"replicas":9,`+deploymentRest+`}`)},
	{does: "put metadata with the status", send: "PUT {deps}/d/status", body: jsonOf("Deployment", `"name":"d","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["example.com/f"]`, `"status":{"replicas":4},"spec":{"replicas":9,`+deploymentRest+`}`)},
	{does: "put the status dryly", send: "PUT {deps}/d/status?dryRun=All", body: jsonOf("Deployment", `"name":"d"`, `"status":{"replicas":5},"spec":{"replicas":9,`+deploymentRest+`}`)},
	{does: "patch the status", send: "PATCH {deps}/d/status", as: mergePatch, body: `{"spec":{"replicas":7},"status":{"observedGeneration":1}}`},
	{does: "patch the status strategically", send: "PATCH {deps}/d/status", as: strategicPatch, body: `{"status":{"conditions":[{"type":"Available","status":"True","lastUpdateTime":null,"lastTransitionTime":null}]}}`},
	{does: "put without the status", send: "PUT {deps}/d", body: deployment(`"name":"d"`, "1")},
	{does: "put the status of what is not there", send: "PUT {deps}/nope/status", body: deployment(`"name":"nope"`, "1")},
	{does: "put the status of another name", send: "PUT {deps}/d/status", body: deployment(`"name":"nope"`, "1")},
	{does: "delete the status", send: "DELETE {deps}/d/status"},
	{does: "post the status", send: "POST {deps}/d/status", body: deployment(`"name":"d"`, "1")},
	{does: "get a status where there is none", send: "GET {cm}/a/status"},
	{does: "create a pod with a status", send: "POST {pods}", body: jsonOf("Pod", `"name":"p"`, `"spec":{`+admittedSpec+`},"status":{"phase":"Running"}`)},
	{does: "patch the status of a pod", send: "PATCH {pods}/p/status", as: mergePatch, body: `{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}},"status":{"phase":"Running"}}`},
	{does: "patch the status of a node", send: "PATCH /api/v1/nodes/fidelity-node/status", as: mergePatch, body: `{"metadata":{"labels":{"a":"b"}},"status":{"phase":"Running"}}`},
	{does: "patch the status of a namespace", send: "PATCH {self}/status", as: mergePatch, body: `{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[]}}`, known: differ{"spec": "has no finalizer, as nobody is there to remove it"}},
}
