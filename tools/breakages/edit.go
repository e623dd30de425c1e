package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// edit is one change within a function. It names expressions as go/types prints
// them, so that neither layout nor comments nor other lines matter.
type edit func(fn *ast.FuncDecl) ([]change, error)

// change replaces the source from one position up to another.
type change struct {
	from, to token.Pos
	text     string
}

// begin inserts a statement at the function's beginning.
func begin(statement string) edit {
	return func(fn *ast.FuncDecl) ([]change, error) {
		at := fn.Body.Lbrace + 1
		return []change{{at, at, " " + statement + ";"}}, nil
	}
}

// drop deletes the statement that makes the only call of a function, which is named
// as it is called: "q.seen.Add".
func drop(callee string) edit {
	return func(fn *ast.FuncDecl) ([]change, error) {
		var found []change
		ast.Inspect(fn, func(n ast.Node) bool {
			var call ast.Expr
			switch n := n.(type) {
			case *ast.ExprStmt:
				call = n.X
			case *ast.DeferStmt:
				call = n.Call
			case *ast.AssignStmt:
				call = n.Rhs[0]
			}
			if c, ok := call.(*ast.CallExpr); ok && types.ExprString(c.Fun) == callee {
				found = append(found, change{n.Pos(), n.End(), "{}"})
			}
			return true
		})
		return one(found, "statements that call "+callee)
	}
}

// always has the only condition with an expression in it hold, and never has it fail:
// that of an if, of a for, or of a case.
func always(expr string) edit { return condition(expr, "(%s) || true") }
func never(expr string) edit  { return condition(expr, "(%s) && false") }

func condition(expr, format string) edit {
	before, after, _ := strings.Cut(format, "%s")
	return func(fn *ast.FuncDecl) ([]change, error) {
		var found []change
		add := func(cond ast.Expr) {
			if cond != nil && len(within(cond, expr)) > 0 {
				found = append(found, change{cond.Pos(), cond.Pos(), before}, change{cond.End(), cond.End(), after})
			}
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				add(n.Cond)
			case *ast.ForStmt:
				add(n.Cond)
			case *ast.SwitchStmt:
				for _, clause := range n.Body.List {
					for _, cond := range clause.(*ast.CaseClause).List {
						if n.Tag == nil {
							add(cond)
						}
					}
				}
			}
			return true
		})
		if len(found) != 2 {
			return nil, fmt.Errorf("has %d conditions with %s, want one", len(found)/2, expr)
		}
		return found, nil
	}
}

// swap replaces the only expression of that text by another.
func swap(expr, by string) edit {
	return func(fn *ast.FuncDecl) ([]change, error) {
		var found []change
		for _, e := range within(fn, expr) {
			found = append(found, change{e.Pos(), e.End(), by})
		}
		return one(found, "expressions "+expr)
	}
}

// within are the expressions of a node that are printed as text is.
func within(n ast.Node, text string) (found []ast.Expr) {
	ast.Inspect(n, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && types.ExprString(e) == text {
			found = append(found, e)
			return false
		}
		return true
	})
	return found
}

func one(found []change, what string) ([]change, error) {
	if len(found) != 1 {
		return nil, fmt.Errorf("has %d %s, want one", len(found), what)
	}
	return found, nil
}

// apply gives the file that has a row's function, as it is and as the row breaks it.
// The error names the row.
func (b *breakage) apply(root string) (path string, whole, broken []byte, err error) {
	files, err := filepath.Glob(filepath.Join(root, b.dir, "*.go"))
	if err != nil {
		return "", nil, nil, err
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			return "", nil, nil, fmt.Errorf("%s: %w", b.promise, err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, whole, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, nil, fmt.Errorf("%s: %w", b.promise, err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil || funcName(fn) != b.fn {
				continue
			}
			changes, err := b.edit(fn)
			if err != nil {
				return "", nil, nil, fmt.Errorf("%s: %s of %s %w", b.promise, b.fn, b.dir, err)
			}
			at := 0
			for _, c := range changes {
				from, to := fset.Position(c.from).Offset, fset.Position(c.to).Offset
				broken = append(append(broken, whole[at:from]...), c.text...)
				at = to
			}
			return path, whole, append(broken, whole[at:]...), nil
		}
	}
	return "", nil, nil, fmt.Errorf("%s: no function %s in %s", b.promise, b.fn, b.dir)
}

// funcName is a function's name as a row has it: "Func", "Type.Method" or
// "(*Type).Method", without type parameters.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	star, pointer := t.(*ast.StarExpr)
	if pointer {
		t = star.X
	}
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	if name := types.ExprString(t); !pointer {
		return name + "." + fn.Name.Name
	} else {
		return "(*" + name + ")." + fn.Name.Name
	}
}
