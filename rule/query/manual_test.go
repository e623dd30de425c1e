package query_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/manual"
	"github.com/streamwatch/streamwatch/rule/query"
)

const rulesPage = "docs/rules.md"

// quoted returns what is in backquotes in a cell of a table.
func quoted(cell string) (texts []string) {
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// The page's queries find the posts that it says.
func TestPageMatches(t *testing.T) {
	rows := manual.Rows(manual.Section(t, manual.Page(t, rulesPage), "## Words and phrases"))
	if len(rows) < 15 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		text, finds, not := quoted(row[0])[0], quoted(row[1])[0], quoted(row[2])[0]
		p, _, err := query.Parse(text, query.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !p.Match(&fetcher.Tweet{Text: finds}) || p.Match(&fetcher.Tweet{Text: not}) {
			t.Errorf("%s: want it to find %q, and not %q", text, finds, not)
		}
	}
}

// The page has every operator by all of its names, says which of them need more than a post and
// which cannot stand alone, and its examples are right.
func TestPageOperators(t *testing.T) {
	page := manual.Page(t, rulesPage)
	operators := manual.Section(t, page, "## Operators")
	for _, name := range query.Names() {
		if !strings.Contains(operators, "`"+name+"`") && !strings.Contains(operators, "`"+name+":`") {
			t.Errorf("the page lacks %s", name)
		}
	}
	narrow := manual.Section(t, page, "### What a post is and has")
	for _, row := range manual.Rows(operators) {
		example := quoted(row[1])[0]
		p, _, err := query.Parse(example, query.Options{})
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		if marked := strings.Contains(row[0], "°"); marked != (len(p.NeedsUpstream()) > 0) && !strings.Contains(row[0], "`bio") {
			t.Errorf("%s: marked as needing more than a post: %v", row[0], marked)
		}
		clause := strings.TrimPrefix(strings.TrimPrefix(example, "moon "), "-")
		_, _, err = query.Parse(clause, query.Options{})
		if narrows := strings.HasSuffix(row[2], "narrows") || strings.Contains(narrow, row[2]); narrows != (err != nil) {
			t.Errorf("%s: %s narrows: %v, alone: %v", row[0], clause, narrows, err)
		}
	}
}

// The page has every code, and its examples get theirs.
func TestPageCodes(t *testing.T) {
	rows := manual.Rows(manual.Section(t, manual.Page(t, rulesPage), "## Errors and warnings"))
	var told []string
	for _, row := range rows {
		codes := quoted(row[0])
		told = append(told, codes...)
		for _, text := range quoted(row[1]) {
			_, found, err := query.Parse(text, query.Options{})
			var bad *query.SyntaxError
			if errors.As(err, &bad) {
				found = append(found, bad.Errors...)
			}
			if !slices.ContainsFunc(found, func(d query.Diagnostic) bool { return d.Code == codes[0] }) {
				t.Errorf("%s: %v, want %s", text, found, codes[0])
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range regexp.MustCompile(`\b[EW]_[A-Z_0-9]+\b`).FindAllString(string(doc), -1) {
		if !slices.Contains(told, code) {
			t.Errorf("the page lacks %s", code)
		}
	}
}
