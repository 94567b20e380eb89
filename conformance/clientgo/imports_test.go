package clientgo

// What upstream's tests import and nothing else here does.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "heliograph.example/clientgo/dynamicinformer"
	_ "heliograph.example/clientgo/metadatainformer"
	_ "heliograph.example/clientgo/watch"
	_ "heliograph.example/clientgo/workqueue"
	_ "k8s.io/apimachinery/pkg/util/wait"
	_ "k8s.io/client-go/dynamic/dynamicinformer"
	_ "k8s.io/client-go/dynamic/fake"
	_ "k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/client-go/metadata/fake"
	_ "k8s.io/client-go/metadata/metadatainformer"
	_ "k8s.io/client-go/tools/watch"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/klog/v2/ktesting"
	_ "k8s.io/utils/clock/testing"
)
