// Package dynamicinformer takes the place of k8s.io/client-go/dynamic/dynamicinformer:
// it has the same names with the same types, so that a program moves over by its import
// lines.
//
//	import "heliograph.example/clientgo/dynamicinformer" // was k8s.io/client-go/dynamic/dynamicinformer
//
// Its informers are ours and read unstructured objects of any resource through a
// dynamic client, a fake one included. The client decodes each answer as a whole: its
// connection cannot be had from outside. A program that reads many custom resources
// does better with informer.For of package heliograph.example/informer, which decodes
// object by object.
package dynamicinformer
