package controller

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"heliograph.example/informer"
)

func TestMain(m *testing.M) {
	// Nothing of ours may write into an object of an informer.
	if err := os.Setenv(informer.MutationVariable, "panic"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
