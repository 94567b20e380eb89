package clientgo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsLeftOutHasAReasonAndARowInTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range table {
		for _, s := range append(u.Skips[:len(u.Skips):len(u.Skips)], u.Differs...) {
			if s.Why == "" {
				t.Errorf("%s: %s is left out without a reason", u.Path, s.Name)
			}
			if s.Row == "" || !strings.Contains(string(guide), "\n| "+s.Row+" |") {
				t.Errorf("%s: docs/migration.md has no row %q, to which %s points", u.Path, s.Row, s.Name)
			}
		}
	}
}
