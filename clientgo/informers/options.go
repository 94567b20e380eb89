package informers

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/reflector"
)

// SharedInformerOption changes a factory while it is made. A nil one changes nothing.
type SharedInformerOption func(*sharedInformerFactory) *sharedInformerFactory

// WithCustomResyncConfig sets the resync period for single types, of which the map has
// examples; a period of 0 means no resync.
func WithCustomResyncConfig(resyncConfig map[metav1.Object]time.Duration) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		for example, period := range resyncConfig {
			f.customResync[reflect.TypeOf(example)] = period
		}
		return f
	}
}

// WithTweakListOptions sets a function that may change the options of each list and
// watch, once they are complete. It is called by several goroutines. nil changes
// nothing.
func WithTweakListOptions(tweakListOptions internalinterfaces.TweakListOptionsFunc) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.tweak = tweakListOptions
		return f
	}
}

// WithNamespace limits the factory to a namespace; "" means all. It does not concern
// resources that have no namespace.
func WithNamespace(namespace string) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.namespace = namespace
		return f
	}
}

// WithTransform sets what is made of each object before it is stored. nil stores it as
// it is.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.transform = transform
		return f
	}
}

// WithInformerName gives the factory a name, by which metrics tell its informers.
func WithInformerName(informerName *cache.InformerName) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.informerName = informerName
		return f
	}
}

// WithShape says what of each object is wanted, and, unless shape.Unshared is set, lets
// objects share equal parts, which makes them smaller by half and more. The zero Shape
// wants everything and shares. client-go has no such option.
//
// Whoever shares must not write into an object of a lister, a handler or a transform
// at all: such a write shows in other objects. Together with WithTransform nothing is
// shared. What a fake clientset gives comes with all its fields. A path of shape.Fields that a type lacks keeps the informer of that type
// from ever being synced: it says so in the log, and in the error of a wait.
func WithShape(shape reflector.Shape) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.shape = shape
		return f
	}
}
