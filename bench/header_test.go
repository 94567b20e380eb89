package main

import "testing"

func TestTheCommandIsPrintedSoThatItCanBeRunAgain(t *testing.T) {
	got := quoted([]string{"-n", "5", "-only", "pipeline, (1|5)", "it's", ""})
	if want := `-n 5 -only 'pipeline, (1|5)' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
