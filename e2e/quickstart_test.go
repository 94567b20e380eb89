package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes what a user of the cluster would have, and returns its
// path.
func writeKubeconfig(t *testing.T) string {
	t.Helper()
	config := cluster.Config()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"c": {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*api.AuthInfo{"u": {Token: config.BearerToken}},
		Contexts:       map[string]*api.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheQuickstartRunsOnACluster(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/quickstart", "-kubeconfig", writeKubeconfig(t))
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "equal to a LIST") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out[strings.LastIndex(string(out), "\n\n")+1:])
}
