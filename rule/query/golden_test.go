package query_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/rule/query"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

var dialects = []query.Dialect{query.Union, query.V2Stream, query.V2Search, query.Web}

// queries are the queries of the golden file.
func queries(t testing.TB) []string {
	data, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if q, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "? "); ok {
			list = append(list, strings.ReplaceAll(q, `\t`, "\t"))
		}
	}
	return list
}

// outcome returns in one line what a query becomes: the tree and the codes of the
// warnings, or the codes of the errors with the bytes they are about.
func outcome(text string, d query.Dialect) string {
	p, warnings, err := query.Parse(text, query.Options{Dialect: d})
	var bad *query.SyntaxError
	if errors.As(err, &bad) {
		var parts []string
		for _, e := range bad.Errors {
			parts = append(parts, fmt.Sprintf("%s@%d-%d", e.Code, e.Start, e.End))
		}
		return "! " + strings.Join(parts, " ")
	}
	s := p.Tree()
	for _, w := range warnings {
		s += "  " + w.Code
	}
	return s
}

// The golden file says what each query becomes in each dialect; dialects that
// agree share a line. A change of the file is a change of the language. To add a
// query, add its line and run the test with -update.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cases := 0
	for lines := bufio.NewScanner(strings.NewReader(string(data))); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "? ") {
			if strings.HasPrefix(line, "#") {
				fmt.Fprintln(&out, line)
			}
			continue
		}
		cases++
		fmt.Fprintln(&out, line)
		text := strings.ReplaceAll(line[2:], `\t`, "\t")
		var results, names []string
		for _, d := range dialects {
			r := outcome(text, d)
			i := 0
			for i < len(results) && results[i] != r {
				i++
			}
			if i == len(results) {
				results, names = append(results, r), append(names, d.String())
			} else {
				names[i] += " " + d.String()
			}
		}
		for i, r := range results {
			if len(results) == 1 {
				names[i] = "all"
			}
			fmt.Fprintf(&out, "  %s: %s\n", names[i], r)
		}
	}
	if cases < 150 {
		t.Errorf("%d cases, want 150 at least", cases)
	}
	if *update {
		if err := os.WriteFile("testdata/golden.txt", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, want := strings.Split(out.String(), "\n"), strings.Split(string(data), "\n")
	text := ""
	for i := range max(len(got), len(want)) {
		g, w := at(got, i), at(want, i)
		if strings.HasPrefix(w, "? ") {
			text = w
		}
		if g != w {
			t.Errorf("%s\n got %s\nwant %s", text, g, w)
			if len(got) != len(want) {
				t.Fatal("the rest is not compared")
			}
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
