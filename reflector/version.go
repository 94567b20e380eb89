package reflector

import "k8s.io/apimachinery/pkg/util/resourceversion"

// compareVersions orders two resource versions, as servers since Kubernetes
// 1.35 promise that it may be done. ok is false if one of them is not a number
// that the promise covers.
func compareVersions(a, b string) (order int, ok bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// hasVersion reports whether version names a state. The empty one and "0" mean
// "any" in a request, and no server gives them to a state.
func hasVersion(version string) bool {
	return version != "" && version != "0"
}
