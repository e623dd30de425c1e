package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every row fits its function, and what it makes of it is Go. That a test turns red
// is for the program.
func TestListFitsTheSource(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range list {
		path, whole, broken, err := b.apply("../..")
		if err != nil {
			t.Error(err)
			continue
		}
		if string(broken) == string(whole) {
			t.Errorf("%s: changes nothing", b.promise)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), path, broken, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", b.promise, err)
		}
		if seen[b.promise] {
			t.Errorf("%s: is there twice", b.promise)
		}
		seen[b.promise] = true
	}
}

const source = `package p

type T struct{ n int }

func (t *T) Do(n int) int {
	t.note(n)
	if n > 1 && t.n < 2 { // a comment
		return f(n,
			t.n)
	}
	switch {
	case n == 0:
		n++
	}
	for n < 7 {
		n = n + 2
	}
	return n
}

func (T[K]) Get() {}
`

// A row names a function and a place in it, however they are laid out.
func TestEdits(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, fn string
		edit     edit
		want     string // in the broken source, or
		err      string
	}{
		{"a statement at the beginning", "(*T).Do", begin("n = 0"), "int { n = 0;\n\tt.note(n)", ""},
		{"a call", "(*T).Do", drop("t.note"), "{\n\t{}\n\tif", ""},
		{"a condition that always holds", "(*T).Do", always("t.n < 2"), "if (n > 1 && t.n < 2) || true {", ""},
		{"a condition that never holds", "(*T).Do", never("n < 7"), "for (n < 7) && false {", ""},
		{"a case", "(*T).Do", never("n == 0"), "case (n == 0) && false:", ""},
		{"an expression over two lines", "(*T).Do", swap("f(n, t.n)", "0"), "return 0\n", ""},
		{"a method of a generic type", "T.Get", begin("return"), "Get() { return;}", ""},

		{"a function that is not there", "Do", begin("n = 0"), "", "row: no function Do in "},
		{"a call that is not there", "(*T).Do", drop("t.write"), "", "row: (*T).Do of  has 0 statements that call t.write, want one"},
		{"a condition that is there twice", "(*T).Do", never("n"), "", "row: (*T).Do of  has 3 conditions with n, want one"},
		{"an expression that is there twice", "(*T).Do", swap("t.n", "0"), "", "row: (*T).Do of  has 2 expressions t.n, want one"},
	} {
		b := breakage{promise: "row", fn: tc.fn, edit: tc.edit}
		_, _, broken, err := b.apply(dir)
		switch {
		case tc.err != "" && (err == nil || err.Error() != tc.err):
			t.Errorf("%s: error %v, want %s", tc.name, err, tc.err)
		case tc.err == "" && (err != nil || !strings.Contains(string(broken), tc.want)):
			t.Errorf("%s: error %v, want %q in\n%s", tc.name, err, tc.want, broken)
		}
	}
}
