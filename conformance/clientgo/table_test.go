package clientgo

import "time"

// table has the packages of client-go that ours take the place of.
var table = []upstream{
	cache,
	workqueue,
	watch,
	dynamicinformer,
	metadatainformer,
}

// upstream says how the tests of one package of client-go are run.
type upstream struct {
	// Path is the package below k8s.io/client-go, and Ours the one that takes
	// its place below heliograph.example.
	Path, Ours string
	// Edits are what is changed in the test files, by name.
	Edits map[string][]edit
	// Skips are the tests that are not run.
	Skips []skip
	// Differs are the exported names that are missing in ours, or are
	// something else.
	Differs []skip
	// Unfinished says that some tests fail for faults that are known and not yet
	// mended. They are run with -unfinished only.
	Unfinished bool
	// Timeout is the time that all tests of the package may take.
	Timeout time.Duration
}

// skip is something of client-go that is left out.
type skip struct {
	Name string
	// Why is the reason, and Row names the row of docs/migration.md that
	// tells users what is different.
	Why, Row string
}

// An edit changes the text of a Go file. It is an error if there is nothing to
// change.
type edit func(text string) (string, error)
