package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a place in the source and what a bug could make of it.
type mutant struct {
	id       int // from 1, as the binaries know it
	pkg      string
	file     string
	line     int
	fn       string
	kind     string
	was      string
	from, to int // in the file
	wrap     func(id int, inner string) string
}

// A mutant's code decides as it runs whether it is the one to be tried: one binary has
// all of them, and none makes a variable or an import unused.
const helper = `package breakage

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	active, _ = strconv.Atoi(os.Getenv("BREAKAGE"))
	notes, _  = os.OpenFile(os.Getenv("BREAKAGE_REACHED"), os.O_APPEND|os.O_WRONLY, 0)
	seen      [1 << 16]atomic.Bool
)

func On(id int) bool {
	if notes != nil && !seen[id].Load() && !seen[id].Swap(true) {
		fmt.Fprintln(notes, id)
	}
	return id == active
}

func Off[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](id int, v T) T {
	if On(id) {
		return v + 1
	}
	return v
}

func Zero[T any](id int, v T) T {
	if On(id) {
		var zero T
		return zero
	}
	return v
}
`

// scan collects a file's mutants.
type scan struct {
	pkg, path string
	src       []byte
	fset      *token.FileSet
	info      *types.Info
	skip      map[ast.Node]bool // not looked into
	whole     map[ast.Expr]bool // conditions that are negated as a whole
	found     []*mutant
}

// mutantsOf lists what can be broken in a package, in the order of its source.
func mutantsOf(p *pkg, importer types.Importer, fset *token.FileSet) ([]*mutant, error) {
	var files []*ast.File
	var sources [][]byte
	for _, name := range p.GoFiles {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, sources = append(files, file), append(sources, src)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	var all []*mutant
	for i, file := range files {
		s := &scan{pkg: p.ImportPath, path: filepath.Join(p.Dir, p.GoFiles[i]), src: sources[i], fset: fset, info: info,
			skip: map[ast.Node]bool{}, whole: map[ast.Expr]bool{}}
		ast.PreorderStack(file, nil, s.visit)
		all = append(all, s.found...)
	}
	return all, nil
}

func (s *scan) visit(n ast.Node, stack []ast.Node) bool {
	if s.skip[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.FuncDecl: // texts for people
		return n.Body != nil && !slices.Contains([]string{"Error", "GoString", "LogValue"}, n.Name.Name)
	case *ast.CompositeLit:
		return n.Type == nil || !isArray(n.Type) // with constant sizes and keys
	case *ast.CallExpr:
		if !s.call(n) {
			return false
		}
		s.before(n, stack)
	case *ast.IfStmt:
		if onlyTells(s, n.Body) && n.Else == nil {
			s.skip[n.Cond] = true
		} else {
			s.negate(n.Cond, stack)
		}
		if clamps(n) {
			s.skip[n.Cond] = true
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			s.negate(n.Cond, stack)
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, cond := range clause.(*ast.CaseClause).List {
				if n.Tag == nil {
					s.negate(cond, stack)
				} else {
					s.skip[cond] = true // mostly constants, which must differ
				}
			}
		}
	case *ast.RangeStmt:
		if s.counts(n.X) {
			s.add("off by one", n.X, stack, off)
		}
	case *ast.BinaryExpr:
		s.binary(n, stack)
	}
	if stmt, ok := n.(ast.Stmt); ok && s.droppable(stmt, stack) {
		s.add("dropped", stmt, stack, func(id int, inner string) string {
			return fmt.Sprintf("if !breakage_.On(%d) { %s }", id, inner)
		})
	}
	if ret, ok := n.(*ast.ReturnStmt); ok {
		s.results(ret, stack)
	}
	return true
}

// call tells whether a call's arguments are looked into: log messages, texts of errors
// and capacities are not.
func (s *scan) call(call *ast.CallExpr) bool {
	if s.tells(call) {
		return false
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "make" {
		hints := call.Args[1:]
		if _, slice := s.info.TypeOf(call.Args[0]).Underlying().(*types.Slice); slice {
			hints = call.Args[min(2, len(call.Args)):]
		} else if _, channel := s.info.TypeOf(call.Args[0]).Underlying().(*types.Chan); channel {
			hints = nil
		}
		for _, hint := range hints {
			s.skip[hint] = true
		}
	}
	return true
}

// tells are the calls that only tell people something, end the program, or make room.
func (s *scan) tells(call *ast.CallExpr) bool {
	switch fn := s.callee(call).(type) {
	case *types.Builtin:
		return fn.Name() == "panic"
	case *types.Func:
		if fn.Name() == "Grow" {
			return true
		}
		switch name := fn.FullName(); name {
		case "fmt.Errorf", "errors.New":
			return true
		default:
			return strings.HasPrefix(name, "log/slog.") || strings.HasPrefix(name, "(*log/slog.")
		}
	}
	return false
}

func (s *scan) callee(call *ast.CallExpr) types.Object {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return s.info.Uses[fun]
	case *ast.SelectorExpr:
		return s.info.Uses[fun.Sel]
	}
	return nil
}

func onlyTells(s *scan, block *ast.BlockStmt) bool {
	for _, stmt := range block.List {
		if e, ok := stmt.(*ast.ExprStmt); !ok {
			return false
		} else if call, ok := e.X.(*ast.CallExpr); !ok || !s.tells(call) {
			return false
		}
	}
	return true
}

// clamps has an if that makes one side of its comparison the other: where they are equal
// it does not matter.
func clamps(n *ast.IfStmt) bool {
	cond, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || n.Else != nil || len(n.Body.List) != 1 {
		return false
	}
	a, ok := n.Body.List[0].(*ast.AssignStmt)
	if !ok || len(a.Lhs) != 1 {
		return false
	}
	x, y := types.ExprString(cond.X), types.ExprString(cond.Y)
	l, r := types.ExprString(a.Lhs[0]), types.ExprString(a.Rhs[0])
	return l == x && r == y || l == y && r == x
}

func (s *scan) negate(cond ast.Expr, stack []ast.Node) {
	if !s.isBool(cond) {
		return
	}
	s.whole[cond] = true
	s.add("negated", cond, stack, func(id int, inner string) string {
		return fmt.Sprintf("((%s) != breakage_.On(%d))", inner, id)
	})
}

// binary swaps && and ||, and comparisons. What is counted is compared with the bound
// left out or let in; of what is measured (times, floats) that is no promise: it is
// compared the other way round.
func (s *scan) binary(n *ast.BinaryExpr, stack []ast.Node) {
	boundary := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	direction := map[token.Token]token.Token{token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ}
	switch n.Op {
	case token.LAND:
		s.swap("&& to ||", n, n.X, token.LOR, n.Y, stack)
	case token.LOR:
		s.swap("|| to &&", n, n.X, token.LAND, n.Y, stack)
	case token.EQL, token.NEQ:
		if !s.whole[n] {
			s.swap("compared", n, n.X, map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL}[n.Op], n.Y, stack)
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if (s.counts(n.X) || s.counts(n.Y)) && !s.instants(n) {
			s.swap("compared", n, n.X, boundary[n.Op], n.Y, stack)
		} else if !s.whole[n] {
			s.swap("compared", n, n.X, direction[n.Op], n.Y, stack)
		}
	case token.ADD, token.SUB:
		if outer, ok := stack[len(stack)-1].(*ast.BinaryExpr); ok && (outer.Op == token.ADD || outer.Op == token.SUB) {
			return
		}
		if s.counts(n) && !s.instants(n) {
			s.add("off by one", n, stack, off)
		}
	}
}

// before swaps Before and After of times.
func (s *scan) before(call *ast.CallExpr, stack []ast.Node) {
	fn, ok := s.callee(call).(*types.Func)
	if !ok || s.whole[call] {
		return
	}
	other := map[string]string{"(time.Time).Before": "After", "(time.Time).After": "Before"}[fn.FullName()]
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if other == "" || !ok {
		return
	}
	if x, arg := s.plain(sel.X), s.plain(call.Args[0]); x != "" && arg != "" {
		s.add("compared", call, stack, either(fmt.Sprintf("%s.%s(%s)", x, other, arg)))
	}
}

func (s *scan) swap(kind string, n, x ast.Expr, op token.Token, y ast.Expr, stack []ast.Node) {
	if left, right := s.plain(x), s.plain(y); s.isBool(n) && left != "" && right != "" {
		s.add(kind, n, stack, either(fmt.Sprintf("(%s) %s (%s)", left, op, right)))
	}
}

func either(other string) func(int, string) string {
	return func(id int, inner string) string {
		return fmt.Sprintf("(breakage_.On(%d) && (%s) || !breakage_.On(%d) && (%s))", id, other, id, inner)
	}
}

func off(id int, inner string) string { return fmt.Sprintf("breakage_.Off(%d, %s)", id, inner) }

// results zeroes what is returned.
func (s *scan) results(n *ast.ReturnStmt, stack []ast.Node) {
	var sig *types.Signature
	for _, outer := range slices.Backward(stack) {
		if fn, ok := outer.(*ast.FuncDecl); ok {
			sig = s.info.Defs[fn.Name].Type().(*types.Signature)
			break
		}
		if fn, ok := outer.(*ast.FuncLit); ok {
			sig = s.info.TypeOf(fn).(*types.Signature)
			break
		}
	}
	if sig.Results().Len() != len(n.Results) {
		return // the results of another call, or named ones
	}
	last := len(n.Results) - 1
	fails := last > 0 && !s.info.Types[n.Results[last]].IsNil() && s.info.TypeOf(n.Results[last]).String() == "error"
	for i, e := range n.Results {
		if fails && i < last {
			continue // nobody uses what comes with an error
		}
		tv := s.info.Types[e]
		lit, composite := e.(*ast.CompositeLit)
		switch {
		case composite && len(lit.Elts) == 0, tv.IsNil():
		case tv.Value != nil && s.isBool(e):
			s.add("negated", e, stack, func(id int, inner string) string {
				return fmt.Sprintf("(%s != breakage_.On(%d))", inner, id)
			})
		case tv.Value == nil && types.Identical(tv.Type, sig.Results().At(i).Type()):
			s.add("zeroed", e, stack, func(id int, inner string) string {
				return fmt.Sprintf("breakage_.Zero(%d, %s)", id, inner)
			})
		}
	}
}

// droppable are the statements without which the function still compiles, and without
// which it does something else.
func (s *scan) droppable(stmt ast.Stmt, stack []ast.Node) bool {
	guarded := false
	switch outer := stack[len(stack)-1].(type) {
	case *ast.BlockStmt:
		parent, ok := stack[len(stack)-2].(*ast.IfStmt)
		guarded = ok && parent.Else == nil
	case *ast.CaseClause:
	case *ast.CommClause:
		if outer.Comm == stmt {
			return false
		}
	default:
		return false
	}
	switch stmt := stmt.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return guarded
	case *ast.ExprStmt:
		call, ok := stmt.X.(*ast.CallExpr)
		return ok && s.does(call)
	case *ast.DeferStmt:
		return s.does(stmt.Call)
	case *ast.AssignStmt:
		blank := func(e ast.Expr) bool { id, ok := e.(*ast.Ident); return ok && id.Name == "_" }
		return stmt.Tok != token.DEFINE && !s.frees(stmt) && slices.ContainsFunc(stmt.Lhs, func(e ast.Expr) bool { return !blank(e) })
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		return true
	}
	return false
}

// does leaves out locks, which only the race detector would miss or nothing could go on
// without, and what frees a timer, a context, or what a slice refers to: see frees, too.
func (s *scan) does(call *ast.CallExpr) bool {
	if s.tells(call) {
		return false
	}
	if t := s.info.TypeOf(call.Fun); t != nil && t.String() == "context.CancelFunc" {
		return false
	}
	if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "clear" {
		_, isSlice := s.info.TypeOf(call.Args[0]).Underlying().(*types.Slice)
		return !isSlice
	}
	fn, ok := s.callee(call).(*types.Func)
	return !ok || !slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, fn.Name()) && fn.FullName() != "(*time.Timer).Stop" && fn.FullName() != "(*time.Ticker).Stop"
}

// frees has a nil put in the place of a slice's element, which is then cut off.
func (s *scan) frees(a *ast.AssignStmt) bool {
	x, ok := a.Lhs[0].(*ast.IndexExpr)
	if !ok || len(a.Lhs) != 1 || !s.info.Types[a.Rhs[0]].IsNil() {
		return false
	}
	_, isSlice := s.info.TypeOf(x.X).Underlying().(*types.Slice)
	return isSlice
}

func (s *scan) isBool(e ast.Expr) bool {
	return types.Identical(types.Default(s.info.TypeOf(e)), types.Typ[types.Bool])
}

// counts are the integers that are no constants and no durations.
func (s *scan) counts(e ast.Expr) bool {
	tv := s.info.Types[e]
	basic, ok := tv.Type.Underlying().(*types.Basic)
	return ok && tv.Value == nil && basic.Info()&types.IsInteger != 0 && basic.Info()&types.IsUntyped == 0 && tv.Type.String() != "time.Duration"
}

// instants are two int64s, neither of them a constant or converted from a count: nanoseconds,
// of which one more is no promise.
func (s *scan) instants(n *ast.BinaryExpr) bool {
	for _, e := range []ast.Expr{n.X, n.Y} {
		if tv := s.info.Types[e]; tv.Value != nil || tv.Type.String() != "int64" {
			return false
		}
		if call, ok := e.(*ast.CallExpr); ok && s.info.Types[call.Fun].IsType() && s.counts(call.Args[0]) {
			return false
		}
	}
	return true
}

func isArray(t ast.Expr) bool {
	array, ok := t.(*ast.ArrayType)
	return ok && array.Len != nil
}

// plain is an expression's source in one line; "" if it cannot be.
func (s *scan) plain(e ast.Expr) string {
	text := s.text(e)
	if strings.Contains(text, "//") || strings.Contains(text, "func(") || strings.Contains(text, "`") {
		return ""
	}
	return strings.ReplaceAll(text, "\n", " ")
}

func (s *scan) text(n ast.Node) string {
	return string(s.src[s.fset.Position(n.Pos()).Offset:s.fset.Position(n.End()).Offset])
}

func (s *scan) add(kind string, n ast.Node, stack []ast.Node, wrap func(int, string) string) {
	m := &mutant{pkg: s.pkg, file: s.path, line: s.fset.Position(n.Pos()).Line, kind: kind, wrap: wrap,
		from: s.fset.Position(n.Pos()).Offset, to: s.fset.Position(n.End()).Offset}
	m.was = strings.Join(strings.Fields(s.text(n)), " ")
	for _, outer := range stack {
		if fn, ok := outer.(*ast.FuncDecl); ok {
			m.fn = fn.Name.Name
		}
	}
	s.found = append(s.found, m)
}

// broken is a file's source with all of its mutants in it, on the same lines.
func broken(src []byte, helper string, mutants []*mutant) string {
	mutants = slices.Clone(mutants)
	slices.SortStableFunc(mutants, func(a, b *mutant) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	text := render(src, 0, len(src), mutants)
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return text // the compiler will say so
	}
	at := int(file.Name.End()) - 1
	return fmt.Sprintf("%s; import breakage_ %q%s", text[:at], helper, text[at:])
}

func render(src []byte, from, to int, mutants []*mutant) string {
	var out strings.Builder
	for len(mutants) > 0 {
		m, n := mutants[0], 1
		for n < len(mutants) && mutants[n].from < m.to {
			n++
		}
		out.Write(src[from:m.from])
		out.WriteString(m.wrap(m.id, render(src, m.from, m.to, mutants[1:n])))
		from, mutants = m.to, mutants[n:]
	}
	out.Write(src[from:to])
	return out.String()
}
