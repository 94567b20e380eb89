package site

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Scheme has the built-in kinds and Site.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two types for one kind: a mistake of this program
		}
	}
	return s
}()

// Client reads and writes sites.
type Client struct{ rest rest.Interface }

// NewClient makes a client for the server that config leads to.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(Scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{client}, nil
}

// Sites is the client of a namespace.
func (c *Client) Sites(namespace string) *gentype.Client[*Site] {
	return gentype.NewClient(Resource.Resource, c.rest, runtime.NewParameterCodec(Scheme), namespace, func() *Site { return &Site{} })
}

// Finalize removes a finalizer from a site, unless somebody has changed the site since.
func (c *Client) Finalize(ctx context.Context, s *Site, finalizer string) (*Site, error) {
	others := slices.DeleteFunc(slices.Clone(s.Finalizers), func(f string) bool { return f == finalizer })
	return c.setFinalizers(ctx, s, others)
}

// Hold adds a finalizer to a site that has it not, unless somebody has changed the site since.
func (c *Client) Hold(ctx context.Context, s *Site, finalizer string) (*Site, error) {
	return c.setFinalizers(ctx, s, append(slices.Clone(s.Finalizers), finalizer))
}

func (c *Client) setFinalizers(ctx context.Context, s *Site, finalizers []string) (*Site, error) {
	s = s.DeepCopy()
	s.Finalizers = finalizers
	return c.Sites(s.Namespace).Update(ctx, s, metav1.UpdateOptions{})
}
