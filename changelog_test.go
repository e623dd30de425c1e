package streamwatch_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The tests that CHANGELOG.md names exist.
func TestChangelogNamesTests(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile("`(?:\\w+\\.)?(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		missing[m[1]] = true
	}
	if len(missing) < 100 {
		t.Fatalf("%d tests are named, want hundreds", len(missing))
	}
	tests := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tree := os.DirFS(".")
	err = fs.WalkDir(tree, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") {
			return err
		}
		src, err := fs.ReadFile(tree, file)
		for _, m := range tests.FindAllSubmatch(src, -1) {
			delete(missing, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("CHANGELOG.md names %s, which does not exist", name)
	}
}
