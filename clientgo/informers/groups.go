package informers

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
	"k8s.io/client-go/tools/cache"
)

// served is the factory as the group packages get it from the factory itself: in its
// own namespace, with its own options, so that the type alone says what is to be read.
type served struct{ *sharedInformerFactory }

// InformerFor returns our informer for the type of obj. newFunc is client-go's.
func (s served) InformerFor(obj runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return s.own(obj)
}

// group calls the constructor of a group package.
func group[G any](f *sharedInformerFactory, create func(internalinterfaces.SharedInformerFactory, string, internalinterfaces.TweakListOptionsFunc) G) G {
	return create(served{f}, f.namespace, f.tweak)
}

// Admissionregistration returns the informers of that group.
func (f *sharedInformerFactory) Admissionregistration() admissionregistration.Interface {
	return group(f, admissionregistration.New)
}

// Internal returns the informers of that group.
func (f *sharedInformerFactory) Internal() apiserverinternal.Interface {
	return group(f, apiserverinternal.New)
}

// Apps returns the informers of that group.
func (f *sharedInformerFactory) Apps() apps.Interface { return group(f, apps.New) }

// Autoscaling returns the informers of that group.
func (f *sharedInformerFactory) Autoscaling() autoscaling.Interface {
	return group(f, autoscaling.New)
}

// Batch returns the informers of that group.
func (f *sharedInformerFactory) Batch() batch.Interface { return group(f, batch.New) }

// Certificates returns the informers of that group.
func (f *sharedInformerFactory) Certificates() certificates.Interface {
	return group(f, certificates.New)
}

// Coordination returns the informers of that group.
func (f *sharedInformerFactory) Coordination() coordination.Interface {
	return group(f, coordination.New)
}

// Core returns the informers of that group.
func (f *sharedInformerFactory) Core() core.Interface { return group(f, core.New) }

// Discovery returns the informers of that group.
func (f *sharedInformerFactory) Discovery() discovery.Interface { return group(f, discovery.New) }

// Events returns the informers of that group.
func (f *sharedInformerFactory) Events() events.Interface { return group(f, events.New) }

// Extensions returns the informers of that group.
func (f *sharedInformerFactory) Extensions() extensions.Interface { return group(f, extensions.New) }

// Flowcontrol returns the informers of that group.
func (f *sharedInformerFactory) Flowcontrol() flowcontrol.Interface {
	return group(f, flowcontrol.New)
}

// Lifecycle returns the informers of that group.
func (f *sharedInformerFactory) Lifecycle() lifecycle.Interface { return group(f, lifecycle.New) }

// Networking returns the informers of that group.
func (f *sharedInformerFactory) Networking() networking.Interface { return group(f, networking.New) }

// Node returns the informers of that group.
func (f *sharedInformerFactory) Node() node.Interface { return group(f, node.New) }

// Policy returns the informers of that group.
func (f *sharedInformerFactory) Policy() policy.Interface { return group(f, policy.New) }

// Rbac returns the informers of that group.
func (f *sharedInformerFactory) Rbac() rbac.Interface { return group(f, rbac.New) }

// Resource returns the informers of that group.
func (f *sharedInformerFactory) Resource() resource.Interface { return group(f, resource.New) }

// Scheduling returns the informers of that group.
func (f *sharedInformerFactory) Scheduling() scheduling.Interface { return group(f, scheduling.New) }

// Storage returns the informers of that group.
func (f *sharedInformerFactory) Storage() storage.Interface { return group(f, storage.New) }

// Storagemigration returns the informers of that group.
func (f *sharedInformerFactory) Storagemigration() storagemigration.Interface {
	return group(f, storagemigration.New)
}
