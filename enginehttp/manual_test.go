package enginehttp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/manual"
)

// literals returns the texts that an expression finds in source files.
func literals(t *testing.T, pattern, expression string) (found []string) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(expression)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range form.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// The page has the text of every error, also of a webhook's attempt, and the status of every failure.
func TestErrorsPage(t *testing.T) {
	page := manual.Page(t, "docs/errors.md")
	texts := literals(t, "*.go", `(?:text: |f\.text = |f\.text, f\.retry = |conflict\()"([^"]{4,})"`)
	texts = append(texts, literals(t, "*.go", `notFound\("([^"]+)"`)...)
	texts = append(texts, literals(t, "../deliver/webhook/*.go", `(?:return|refusal =) "([a-z][^"]+ [^"]+)"\n`)...)
	if len(texts) < 60 {
		t.Fatalf("%d texts", len(texts))
	}
	for _, text := range texts {
		if !strings.Contains(page, strings.TrimSpace(text)) {
			t.Errorf("the page lacks %q", text)
		}
	}
	for _, op := range document().Paths.Map() {
		for _, o := range op.Operations() {
			for status := range o.Responses.Map() {
				if status >= "400" && !strings.Contains(page, "\n| "+status+" |") && o.OperationID != "stream" {
					t.Errorf("the page lacks the status %s of %s", status, o.OperationID)
				}
			}
		}
	}
}

// The page for operators has every answer of /readyz.
func TestReadyPage(t *testing.T) {
	page := manual.Page(t, "docs/operate.md")
	reasons := literals(t, "probes.go", `(?:return|givenUp =) "([a-z][^"]+)"(?:, (?:nil|err))?\n`)
	if len(reasons) < 7 {
		t.Fatalf("%q", reasons)
	}
	for _, reason := range reasons {
		if !strings.Contains(page, "`not ready: "+reason+"`") {
			t.Errorf("the page lacks %q", reason)
		}
	}
}
