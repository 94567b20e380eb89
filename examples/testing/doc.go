// Package example shows how to test a controller against the embedded API
// server. The controller is in package settings; the tests are the example:
// read controller_test.go, and run
//
//	go test ./examples/testing
//
// Each test runs in a bubble of testing/synctest, in virtual time, so back-offs
// of minutes and outages of hours cost nothing.
package example
