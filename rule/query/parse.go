package query

import (
	"strings"
	"unicode/utf8"
)

// parser builds the tree of a query. It stops when a limit is exceeded, which bounds its time and
// its stack.
type parser struct {
	lex     lexer
	tok     lexeme
	opts    Options
	f       *findings
	clauses int
	stopped bool
}

// Parse parses a query in the dialect of o. It returns a program, or a *SyntaxError with up to 16
// errors, and in both cases the warnings. It takes time linear in the length of the query.
func Parse(query string, o Options) (*Program, []Warning, error) {
	o = o.withDefaults()
	var f findings
	root := parseTree(query, o, &f)
	if len(f.errors) == 0 {
		root = normalise(root, false)
		checkTree(root, o.Dialect, &f)
	}
	var p *Program
	if len(f.errors) == 0 {
		checkMeaning(root, &f)
		p = newProgram(o, root, &f)
	}
	f.sort()
	if len(f.errors) > 0 {
		return nil, f.warnings, &SyntaxError{Query: query, Errors: f.errors}
	}
	return p, f.warnings, nil
}

// parseTree returns the syntax tree of a query, or nil if the query is empty or too long.
func parseTree(query string, o Options, f *findings) *node {
	if n := utf8.RuneCountInString(query); n > o.MaxLength {
		at := 0
		for i := range query {
			if at == o.MaxLength {
				f.fail("E_TOO_LONG", i, len(query), "split it into several rules", "the query has %d characters; at most %d are allowed", n, o.MaxLength)
				return nil
			}
			at++
		}
	}
	if strings.TrimSpace(query) == "" {
		f.fail("E_EMPTY", 0, len(query), "write at least one keyword or operator", "the query is empty")
		return nil
	}
	p := &parser{lex: lexer{s: query, d: o.Dialect, f: f}, opts: o, f: f}
	p.advance()
	root := p.or(0)
	for p.tok.kind == lexClose && !p.stopped {
		f.fail("E_PAREN", p.tok.start, p.tok.end, "leave it out or open a group before it", "this ) closes no group")
		p.advance()
		if p.tok.kind != lexEnd {
			p.or(0)
		}
	}
	return root
}

func (p *parser) advance() {
	if p.stopped {
		return
	}
	p.tok = p.lex.next()
	if p.tok.kind != lexLeaf {
		return
	}
	p.clauses += max(1, len(p.tok.node.kids))
	if p.clauses > p.opts.MaxClauses {
		p.stop("E_TOO_MANY_CLAUSES", "split it into several rules", "the query has more than %d clauses", p.opts.MaxClauses)
	}
}

// stop ends the parse with an error at the current lexeme.
func (p *parser) stop(code, hint, format string, args ...any) {
	p.f.errors = p.f.errors[:min(len(p.f.errors), maxErrors-1)] // make room for this one
	p.f.fail(code, p.tok.start, len(p.lex.s), hint, format, args...)
	p.stopped = true
	p.tok = lexeme{kind: lexEnd, start: len(p.lex.s), end: len(p.lex.s)}
}

// or parses clauses joined by OR, which binds less tightly than AND.
func (p *parser) or(depth int) *node {
	out := &node{kind: orNode, start: p.tok.start}
	mixed := false
	for {
		kid, several := p.and(depth)
		mixed = mixed || several
		out.kids = append(out.kids, kid)
		out.end = kid.end
		if p.tok.kind != lexOr {
			break
		}
		p.advance()
	}
	if len(out.kids) == 1 {
		return out.kids[0]
	}
	if mixed {
		var parts []string
		for _, k := range out.kids {
			part := shorten(p.lex.s[k.start:k.end])
			if k.kind == andNode {
				part = "(" + part + ")"
			}
			parts = append(parts, part)
		}
		p.f.warn("W_MIXED", out.start, out.end, "write "+shortenParts(parts), "AND binds tighter than OR")
	}
	return out
}

// shortenParts joins at most four parts by OR.
func shortenParts(parts []string) string {
	if len(parts) > 4 {
		parts = append(parts[:3:3], "…")
	}
	return strings.Join(parts, " OR ")
}

// and parses clauses joined by AND or by white space. several reports whether there were two or
// more.
func (p *parser) and(depth int) (n *node, several bool) {
	out := &node{kind: andNode, start: p.tok.start, end: p.tok.start}
	wordAnd := -1 // position of an AND whose right side has not been read yet
	for {
		switch p.tok.kind {
		case lexLeaf, lexOpen, lexMinus:
			kid := p.unary(depth)
			out.kids = append(out.kids, kid)
			out.end = kid.end
			wordAnd = -1
			continue
		case lexAnd:
			p.f.refuse(p.opts.Dialect.strict(), "AND", p.tok.start, p.tok.end, "leave it out", "white space between clauses is AND already")
			if wordAnd >= 0 || len(out.kids) == 0 {
				p.operand("AND needs a clause on both sides")
			}
			wordAnd = p.tok.start
			p.advance()
			continue
		}
		break
	}
	switch {
	case wordAnd >= 0 && len(out.kids) > 0:
		p.operand("AND needs a clause on both sides")
	case len(out.kids) == 0 && wordAnd < 0 && !p.stopped:
		switch p.tok.kind {
		case lexOr:
			p.operand("OR needs a clause on both sides")
		case lexClose:
			p.f.fail("E_OPERAND", p.tok.start, p.tok.end, "write a clause before it", "a clause is missing before )")
		default:
			p.f.fail("E_OPERAND", p.tok.start, p.tok.end, "write a clause after it", "a clause is missing at the end")
		}
	}
	switch len(out.kids) {
	case 0:
		out.kind = leafNode
	case 1:
		return out.kids[0], false
	}
	return out, len(out.kids) > 1
}

func (p *parser) operand(message string) {
	p.f.fail("E_OPERAND", p.tok.start, p.tok.end, "leave it out, or quote it if it is meant as a word", "%s", message)
}

// unary parses a clause or group, with a - before it if there is one.
func (p *parser) unary(depth int) *node {
	if p.tok.kind != lexMinus {
		return p.primary(depth)
	}
	minus := p.tok
	p.advance()
	switch p.tok.kind {
	case lexLeaf, lexOpen:
	default:
		p.f.fail("E_MINUS", minus.start, minus.end, "write - right before the clause to negate", "this - negates nothing")
		return &node{start: minus.start, end: minus.end}
	}
	n := p.primary(depth)
	n.neg = !n.neg
	n.start = minus.start
	if n.kind == orNode || len(n.kids) > 1 {
		hint := "negate each clause"
		if n.kind == orNode {
			hint = "write " + (&printer{d: p.opts.Dialect}).short(normalise(n, false))
		}
		p.f.refuse(p.opts.Dialect.strict(), "NEG_GROUP", n.start, n.end, hint, "a group should not be negated")
	}
	return n
}

func (p *parser) primary(depth int) *node {
	tok := p.tok
	if tok.kind == lexLeaf {
		p.advance()
		return tok.node
	}
	if depth >= p.opts.MaxDepth {
		p.stop("E_TOO_DEEP", "join groups of the same kind", "groups are nested more than %d deep", p.opts.MaxDepth)
		return &node{start: tok.start, end: tok.end}
	}
	p.advance()
	if p.tok.kind == lexClose {
		p.f.fail("E_EMPTY_GROUP", tok.start, p.tok.end, "leave it out", "the group is empty")
		p.advance()
		return &node{start: tok.start, end: p.tok.start}
	}
	inner := p.or(depth + 1)
	out := &node{kind: andNode, start: tok.start, end: p.tok.end, kids: []*node{inner}}
	if inner.kind != leafNode {
		out.kind, out.kids, out.neg = inner.kind, inner.kids, inner.neg
	}
	if p.tok.kind != lexClose {
		if !p.stopped {
			p.f.fail("E_PAREN", tok.start, tok.end, "close it with )", "this ( is never closed")
		}
		return out
	}
	p.advance()
	return out
}
