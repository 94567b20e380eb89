module heliograph.example/conformance/clientgo

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	heliograph.example v0.0.0
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
	k8s.io/utils v0.0.0-20260626114624-be93311217bd
)

require (
	golang.org/x/mod v0.37.0 // indirect
	golang.org/x/sync v0.21.0 // indirect
)

require (
	github.com/go-logr/logr v1.4.3 // indirect
	golang.org/x/time v0.16.0 // indirect
	golang.org/x/tools v0.47.0
	k8s.io/klog/v2 v2.140.0 // indirect
)

replace heliograph.example => ../../
