// Package clientgo has no code but tests: client-go as the judge of the packages
// that take its place, heliograph.example/clientgo/....
//
//	go test -vet=off .                         # what is asked of ours
//	go test -vet=off . -subject client-go      # the same, asked of client-go itself
//
// or, at the root, "make upstream-test" (SUBJECT=client-go), which is a part of
// "make conformance".
//
// # Upstream's tests
//
// Nothing of client-go is stored here. TestUpstream finds its module in the module
// cache, reads the tests of each package of the table in table_test.go, lets
// each import our package instead of theirs, and runs them as tests of our package,
// with the race detector. They take the place of our own tests by an overlay of the
// go command, so no file is written beside our code, and tests that look inside the
// package compile where ours has what they look for. What ours has for them alone
// stands in the package's export_test.go, which is the one test file of ours that
// stays.
//
// With -subject client-go, client-go's sources take the place of ours in the same
// way, and the same edited tests must pass. So what fails on ours is no fault of
// the edits.
//
// A package in which some tests are known to fail on ours is marked as unfinished in
// the table. Its names are compared; its tests are run with -unfinished.
//
// # A further package
//
// Add an entry to the table:
//
//   - Path and Ours say which package takes the place of which.
//   - Edits are what has to change in a test file, for each file by name: replace
//     and drop make most of them, and each fails when it has nothing to do, as after
//     an update of client-go. An import of a package of the table is rewritten
//     without an edit, and one that is not used any more is removed.
//   - Skips names the tests that are left out, one by one. Each gives its reason and
//     the row of docs/migration.md that tells users of it. A file all of whose
//     tests are left out is left out as a whole, with its helpers. So whatever
//     upstream has is either run or named.
//   - Differs names the exported names of client-go that ours has not, or not with
//     the same type, with a reason and a row, for TestTheExportedNamesAreThere.
//   - What an edit calls and client-go does not have goes, for ours, into the
//     package's export_test.go, and for client-go into
//     testdata/<last element of Ours>/export_test.go.
//
// Import our package in imports_test.go, and what else upstream's tests import and
// nothing here does, and run "go mod tidy".
//
// # Names
//
// TestTheExportedNamesAreThere compares the exported names of each package of the
// table with ours by their types.
package clientgo
