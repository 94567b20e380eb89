// Command kas is kube-apiserver as its own module ships it. It is built from
// source because its module's replace lines rule out "go install", and run as a
// child process by package harness.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
