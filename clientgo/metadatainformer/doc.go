// Package metadatainformer takes the place of
// k8s.io/client-go/metadata/metadatainformer: it has the same names with the same types,
// so that a program moves over by its import lines.
//
//	import "heliograph.example/clientgo/metadatainformer" // was k8s.io/client-go/metadata/metadatainformer
//
// Its informers are ours and read the metadata of objects of any resource through a
// metadata client, a fake one included.
package metadatainformer
