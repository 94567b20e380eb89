// Package informers takes the place of k8s.io/client-go/informers: it has the same
// names with the same types, so that a program moves over by its import lines.
//
//	import "heliograph.example/clientgo/informers" // was k8s.io/client-go/informers
//
//	factory := informers.NewSharedInformerFactory(clientset, 0)
//	pods := factory.Core().V1().Pods() // as client-go generates it
//	pods.Informer().AddEventHandler(handler)
//	factory.StartWithContext(ctx)
//
// The informers and listers of each group are client-go's generated code; what they
// get from the factory is an informer of ours. It reads through the REST client of its
// group in the clientset, with our decoders, object by object. Where the clientset is
// not client-go's own, such as a fake or one that a test has wrapped, it calls List and
// Watch of the typed client, as client-go does.
//
// Objects are private, as client-go's are. [WithShape] lets them share what is equal,
// or leaves out what is not wanted.
//
// A group package takes any factory: core.New(factory, namespace, tweak). There, and
// where a program calls InformerFor with a function of its own, the function decides
// what the informer is.
//
// What is visibly different, and why, is in docs/migration.md.
package informers
