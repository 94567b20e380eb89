package clientgo

// What upstream's tests import and nothing else here does.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "heliograph.example/clientgo/workqueue"
	_ "k8s.io/apimachinery/pkg/util/wait"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/utils/clock/testing"
)
