package apiservertest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Load creates the objects of manifests on the server that config leads to, in
// their order, and returns them as they were created. Manifests are documents of
// YAML separated by "---", or of JSON; lists are taken apart. An object of a
// namespaced kind without a namespace goes to "default"; a status is written,
// too; what is the server's to decide, such as a uid, is left out, so that what
// kubectl prints can be loaded. The error names the source and the document; the
// objects before it have been created, and are returned.
func Load(ctx context.Context, config *rest.Config, source, manifests string) ([]*unstructured.Unstructured, error) {
	documents, err := parse(source, manifests)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var created []*unstructured.Unstructured
	for _, d := range documents {
		obj, err := w.create(ctx, d.object)
		if err != nil {
			return created, d.wrap(err)
		}
		created = append(created, obj)
	}
	return created, nil
}

// Load creates the objects of manifests, as the function of that name does.
func (s *Server) Load(manifests string) []*unstructured.Unstructured {
	s.t.Helper()
	created, err := Load(s.t.Context(), s.ownConfig(), "manifests", manifests)
	if err != nil {
		s.t.Fatal(err)
	}
	return created
}

// LoadFiles creates the objects of the files that match the patterns, in the
// order of the patterns and then of the names: os.DirFS("testdata") and "*.yaml",
// say. A pattern that matches nothing is an error.
func (s *Server) LoadFiles(files fs.FS, patterns ...string) []*unstructured.Unstructured {
	s.t.Helper()
	var created []*unstructured.Unstructured
	for _, pattern := range patterns {
		names, err := fs.Glob(files, pattern)
		if err != nil || len(names) == 0 {
			s.t.Fatalf("load %q: no such file (%v)", pattern, err)
		}
		slices.Sort(names)
		for _, name := range names {
			content, err := fs.ReadFile(files, name)
			if err != nil {
				s.t.Fatal(err)
			}
			objects, err := Load(s.t.Context(), s.ownConfig(), name, string(content))
			if err != nil {
				s.t.Fatal(err)
			}
			created = append(created, objects...)
		}
	}
	return created
}
