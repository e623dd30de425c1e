package streamwatch_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// Bounds of a type, a file and a package of product code. What is wider has
// several jobs: it is taken apart rather than allowed for.
const (
	maxMethods      = 30
	maxFields       = 20
	maxFileLines    = 400
	maxPackageLines = 3000
)

// wide are the types that are wider than allowed, with what they may have: records,
// settings and counters, with a field for each thing they carry. It only shrinks.
var wide = map[string]shape{
	"Config":                        {fields: 22},
	"crashtest/tally":               {fields: 21},
	"detect/Stats":                  {fields: 35},
	"detect/internal/poll/Counters": {fields: 24},
	"enginehttp/deliveryRecord":     {fields: 21},
	"enginetest/accountJSON":        {fields: 23},
	"enginetest/status":             {fields: 25},
	"fetcher/Product":               {fields: 31},
	"fetcher/Tweet":                 {fields: 45},
	"fetcher/User":                  {fields: 26},
	"fetcher/mastodon/status":       {fields: 28},
	"fetcher/shopee/item":           {fields: 30},
}

// topLevel are the packages whose size is bounded: all that comes new passes
// through them.
var topLevel = []string{"detect", "deliver", "deliver/dispatch", "deliver/endpoints", "deliver/webhook", "rule", "monitor", "enginetest"}

// shape is how wide a type is.
type shape struct {
	name            string // package directory and type
	fields, methods int
}

// shapes measures the types, files and packages of a tree.
func shapes(tree fs.FS) (types []shape, files, packages map[string]int, err error) {
	byName := map[string]*shape{}
	files, packages = map[string]int{}, map[string]int{}
	at := func(dir, name string) *shape {
		key := path.Join(dir, name)
		if byName[key] == nil {
			byName[key] = &shape{name: key}
		}
		return byName[key]
	}
	err = walkGo(tree, func(file string, nested bool) error {
		src, err := fs.ReadFile(tree, file)
		if err != nil || nested {
			return err
		}
		lines := strings.Count(string(src), "\n")
		files[file] = lines
		if strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir := path.Dir(file)
		packages[dir] += lines
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil {
					at(dir, receiver(decl.Recv.List[0].Type)).methods++
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if named, ok := spec.(*ast.TypeSpec); ok {
						if s, ok := named.Type.(*ast.StructType); ok {
							for _, f := range s.Fields.List {
								at(dir, named.Name.Name).fields += max(1, len(f.Names))
							}
						}
					}
				}
			}
		}
		return nil
	})
	for _, s := range byName {
		types = append(types, *s)
	}
	slices.SortFunc(types, func(a, b shape) int {
		if a.methods*maxFields+a.fields*maxMethods != b.methods*maxFields+b.fields*maxMethods {
			return b.methods*maxFields + b.fields*maxMethods - a.methods*maxFields - a.fields*maxMethods
		}
		return strings.Compare(a.name, b.name)
	})
	return types, files, packages, err
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// TestShape prints the widest types, and holds types, files and packages to their
// bounds.
func TestShape(t *testing.T) {
	if testsize.Race {
		t.Skip("the tree takes seconds to read: it is read without the race detector")
	}
	types, files, packages, err := shapes(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range types {
		if i < 20 {
			t.Logf("%-30s %3d methods %3d fields", s.name, s.methods, s.fields)
		}
		allowed := wide[s.name]
		if m := max(maxMethods, allowed.methods); s.methods > m {
			t.Errorf("type %s has %d methods, want at most %d: give a part of its job to another type", s.name, s.methods, m)
		}
		if f := max(maxFields, allowed.fields); s.fields > f {
			t.Errorf("type %s has %d fields, want at most %d: group those that belong together", s.name, s.fields, f)
		}
	}
	for file, lines := range files {
		if lines > maxFileLines {
			t.Errorf("%s has %d lines, want at most %d: divide it by subject", file, lines, maxFileLines)
		}
	}
	for _, dir := range topLevel {
		if packages[dir] > maxPackageLines {
			t.Errorf("package %s has %d lines of product code, want at most %d", dir, packages[dir], maxPackageLines)
		}
	}
}

func TestShapesAreMeasured(t *testing.T) {
	types, files, packages, err := shapes(fstest.MapFS{
		"a/a.go":      {Data: []byte("package a\n\ntype T[K any] struct{ a, b int; T2 }\n\nfunc (t *T[K]) A() {}\nfunc (T[K]) B() {}\n")},
		"a/a_test.go": {Data: []byte("package a\n\nfunc (t *T[K]) C() {}\n")},
	})
	if err != nil || len(types) != 1 || types[0] != (shape{name: "a/T", fields: 3, methods: 2}) || files["a/a.go"] != 6 || files["a/a_test.go"] != 3 || packages["a"] != 6 {
		t.Errorf("types %+v, files %v, packages %v, error %v", types, files, packages, err)
	}
}
