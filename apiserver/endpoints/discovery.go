package endpoints

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// aggregatedType is the media type of aggregated discovery.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// serverVersion is what /version tells: that of the server whose behaviour is
// followed here.
var serverVersion = version.Info{
	Major:      "1",
	Minor:      "37",
	GitVersion: "v1.37.2",
	GoVersion:  runtime.Version(),
	Compiler:   runtime.Compiler,
	Platform:   runtime.GOOS + "/" + runtime.GOARCH,
}

// serveDiscovery serves the paths that are not about objects, and reports
// whether this is one.
func (h *Handler) serveDiscovery(w *recorder, r *http.Request) bool {
	path := r.URL.Path
	if path == "/healthz" || path == "/livez" || path == "/readyz" {
		w.send(http.StatusOK, "text/plain; charset=utf-8", []byte("ok"))
		return true
	}
	if path == "/version" {
		// A struct of strings always has a JSON form.
		data, _ := json.MarshalIndent(serverVersion, "", "  ")
		w.send(http.StatusOK, apiruntime.ContentTypeJSON, data)
		return true
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 3 || parts[0] == "api" && len(parts) == 3 {
		return false // before the groups are gone through: it is a resource
	}
	groups := h.groups()
	switch {
	case path == "/api":
		if wantsAggregated(r) {
			h.discover(w, r, aggregated(groups, true))
			return true
		}
		h.discover(w, r, coreVersions(r, groups))
	case path == "/apis":
		if wantsAggregated(r) {
			h.discover(w, r, aggregated(groups, false))
			return true
		}
		h.discover(w, r, groupList(groups))
	case parts[0] == "apis" && len(parts) == 2:
		h.discoverGroup(w, r, groups, parts[1])
	case parts[0] == "api" && len(parts) == 2:
		h.discoverVersion(w, r, groups, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 3:
		h.discoverVersion(w, r, groups, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false
	}
	return true
}

// group is an API group with its versions, best first.
type group struct {
	name     string
	versions []groupVersion
}

type groupVersion struct {
	version   string
	resources []*Resource
}

// groups returns what is served, groups in the order of their names and with
// them the resources.
func (h *Handler) groups() []group {
	h.mu.RLock()
	defer h.mu.RUnlock()
	byGroup := make(map[string]map[string][]*Resource)
	for gvr, s := range h.resources {
		if byGroup[gvr.Group] == nil {
			byGroup[gvr.Group] = make(map[string][]*Resource)
		}
		byGroup[gvr.Group][gvr.Version] = append(byGroup[gvr.Group][gvr.Version], &s.Resource)
	}
	groups := make([]group, 0, len(byGroup))
	for name, versions := range byGroup {
		g := group{name: name}
		for v, resources := range versions {
			slices.SortFunc(resources, func(a, b *Resource) int { return cmp.Compare(a.Plural, b.Plural) })
			g.versions = append(g.versions, groupVersion{v, resources})
		}
		slices.SortFunc(g.versions, func(a, b groupVersion) int {
			return version.CompareKubeAwareVersionStrings(b.version, a.version)
		})
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.name, b.name) })
	return groups
}

// discover answers with obj.
func (h *Handler) discover(w *recorder, r *http.Request, obj apiruntime.Object) {
	out, err := negotiate(r, nil, shapeStatus)
	if err != nil {
		out = output{media: apiruntime.ContentTypeJSON}
	}
	media := out.media
	if _, ok := obj.(*apidiscovery.APIGroupDiscoveryList); ok {
		out, media = output{media: apiruntime.ContentTypeJSON}, aggregatedType
	}
	data, err := h.encodeObject(obj, out)
	if err != nil {
		h.writeStatus(w, r, err)
		return
	}
	w.send(http.StatusOK, media, data)
}

// discoverGroup serves /apis/<group>.
func (h *Handler) discoverGroup(w *recorder, r *http.Request, groups []group, name string) {
	for _, g := range groups {
		if g.name == name && name != "" {
			api := legacyGroup(g)
			api.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			h.discover(w, r, &api)
			return
		}
	}
	notFound(w)
}

// discoverVersion serves /api/v1 and /apis/<group>/<version>.
func (h *Handler) discoverVersion(w *recorder, r *http.Request, groups []group, gv schema.GroupVersion) {
	for _, g := range groups {
		for _, v := range g.versions {
			if g.name == gv.Group && v.version == gv.Version {
				h.discover(w, r, resourceList(gv, v.resources))
				return
			}
		}
	}
	notFound(w)
}

// coreVersions is the answer to /api.
func coreVersions(r *http.Request, groups []group) *metav1.APIVersions {
	versions := &metav1.APIVersions{
		// kube-apiserver gives this one no version.
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: []string{},
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host},
		},
	}
	for _, g := range groups {
		if g.name == "" {
			for _, v := range g.versions {
				versions.Versions = append(versions.Versions, v.version)
			}
		}
	}
	return versions
}

// groupList is the answer to /apis.
func groupList(groups []group) *metav1.APIGroupList {
	list := &metav1.APIGroupList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups:   []metav1.APIGroup{},
	}
	for _, g := range groups {
		if g.name != "" {
			list.Groups = append(list.Groups, legacyGroup(g))
		}
	}
	return list
}

func legacyGroup(g group) metav1.APIGroup {
	api := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.version}
		api.Versions = append(api.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.version})
	}
	api.PreferredVersion = api.Versions[0]
	return api
}

// The verbs of resources and of their status, as kube-apiserver orders them.
var (
	builtinVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	customVerbs  = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	statusVerbs  = metav1.Verbs{"get", "patch", "update"}
)

func (r *Resource) verbs() metav1.Verbs {
	if r.Custom {
		return customVerbs
	}
	return builtinVerbs
}

// storageVersionHash is what kube-apiserver makes of the kind and version in
// which it stores objects; here they are stored in the version that is served.
func (r *Resource) storageVersionHash() string {
	sum := sha256.Sum256([]byte(r.GroupVersionKind.GroupVersion().String() + "/" + r.GroupVersionKind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// resourceList is the answer to /api/v1 and /apis/<group>/<version>.
func resourceList(gv schema.GroupVersion, resources []*Resource) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(),
		APIResources: []metav1.APIResource{},
	}
	for _, r := range resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.Plural, SingularName: r.singular(), Namespaced: r.Namespaced,
			Kind: r.GroupVersionKind.Kind, ShortNames: r.ShortNames, Verbs: r.verbs(),
			StorageVersionHash: r.storageVersionHash(),
		})
		if r.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural + "/status", Namespaced: r.Namespaced,
				Kind: r.GroupVersionKind.Kind, Verbs: statusVerbs,
			})
		}
	}
	return list
}

// singular is the name of one object in discovery.
func (r *Resource) singular() string {
	if r.Singular != "" {
		return r.Singular
	}
	return strings.ToLower(r.GroupVersionKind.Kind)
}

// wantsAggregated reports whether a client asks for aggregated discovery.
func wantsAggregated(r *http.Request) bool {
	for _, c := range parseAccept(r.Header.Get("Accept")) {
		if c.media == apiruntime.ContentTypeJSON && c.params["g"] == apidiscovery.GroupName &&
			c.params["v"] == "v2" && c.params["as"] == "APIGroupDiscoveryList" {
			return true
		}
	}
	return false
}

// aggregated is the answer to /api or /apis in one document.
func aggregated(groups []group, core bool) *apidiscovery.APIGroupDiscoveryList {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	for _, g := range groups {
		if (g.name == "") != core {
			continue
		}
		item := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			item.Versions = append(item.Versions, apidiscovery.APIVersionDiscovery{
				Version: v.version, Resources: aggregatedResources(v.resources), Freshness: apidiscovery.DiscoveryFreshnessCurrent,
			})
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func aggregatedResources(resources []*Resource) []apidiscovery.APIResourceDiscovery {
	var result []apidiscovery.APIResourceDiscovery
	for _, r := range resources {
		kind := &metav1.GroupVersionKind{
			Group: r.GroupVersionKind.Group, Version: r.GroupVersionKind.Version, Kind: r.GroupVersionKind.Kind,
		}
		scope := apidiscovery.ScopeCluster
		if r.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		d := apidiscovery.APIResourceDiscovery{
			Resource: r.Plural, ResponseKind: kind, Scope: scope, SingularResource: r.singular(),
			Verbs: r.verbs(), ShortNames: r.ShortNames,
		}
		if r.Status {
			d.Subresources = []apidiscovery.APISubresourceDiscovery{{Subresource: "status", ResponseKind: kind, Verbs: statusVerbs}}
		}
		result = append(result, d)
	}
	return result
}
