package clientgo

// What upstream's tests import and nothing else here does.
import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "go.uber.org/goleak"
	_ "heliograph.example/clientgo/cache"
	_ "heliograph.example/clientgo/dynamicinformer"
	_ "heliograph.example/clientgo/metadatainformer"
	_ "heliograph.example/clientgo/watch"
	_ "heliograph.example/clientgo/workqueue"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/util/wait"
	_ "k8s.io/client-go/dynamic/dynamicinformer"
	_ "k8s.io/client-go/dynamic/fake"
	_ "k8s.io/client-go/features/testing"
	_ "k8s.io/client-go/kubernetes/fake"
	_ "k8s.io/client-go/metadata/fake"
	_ "k8s.io/client-go/metadata/metadatainformer"
	_ "k8s.io/client-go/tools/cache/testing"
	_ "k8s.io/client-go/tools/watch"
	_ "k8s.io/client-go/util/consistencydetector"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/klog/v2/ktesting"
	_ "k8s.io/utils/clock/testing"
	_ "sigs.k8s.io/randfill"
)
