// Package kubeapi builds a genuine kube-apiserver from its Go module and keeps
// the binary in the user's cache folder, so that it is compiled once for each
// machine and not once for each checkout.
//
//	path, err := kubeapi.Binary(ctx, os.Stderr)
//
// A binary is found again as long as the module files of e2e, the program kas
// and the Go version stay the same. Several processes may ask at once: one
// builds, the others wait for it. Old binaries are not removed; the folder
// "heliograph" below [os.UserCacheDir] may be deleted at any time.
//
// The program in the folder build does the same from the command line.
package kubeapi
