package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The guide shows parts of this program: they must be what the program is.
func TestTheGuideShowsThisProgram(t *testing.T) {
	guide, err := os.ReadFile("../../docs/controllers.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, pattern := range []string{"*.go", "site/*.go", "sites/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			program.Write(text)
		}
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	if len(blocks) < 8 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(program.String(), code) {
			t.Errorf("not in the program:\n%s", code)
		}
	}
}
