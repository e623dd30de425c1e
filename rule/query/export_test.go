package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Tree returns a program's tree as text, such as or(apple, and(iphone, ipad)).
func (p *Program) Tree() string { return tree(p.root, p.dialect) }

func tree(n *node, d Dialect) string {
	s := ""
	if n.kind == leafNode {
		leaf := *n
		leaf.neg = false
		s = (&printer{d: d}).print(&leaf)
	} else {
		var kids []string
		for _, k := range n.kids {
			kids = append(kids, tree(k, d))
		}
		s = map[nodeKind]string{andNode: "and", orNode: "or"}[n.kind] + "(" + strings.Join(kids, ", ") + ")"
	}
	if n.neg {
		return "not " + s
	}
	return s
}

// Dialect returns the dialect that a program was parsed in.
func (p *Program) Dialect() Dialect { return p.dialect }

// Names returns every spelling of an operator.
func Names() []string { return slices.Sorted(maps.Keys(names)) }

// OperatorNames returns every spelling of an operator that takes a value, in order.
func OperatorNames() (list []string) {
	for s, n := range names {
		if operators[n.op].arg != argNone {
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list
}

// CompileTerm compiles a term that no lexer has seen, and returns the code of the error.
func CompileTerm(text string, d Dialect) (code string) {
	var f findings
	newProgram(Options{Dialect: d}, &node{op: opTerm, arg: argument{text: text}}, &f)
	for _, e := range f.errors {
		code = e.Code
	}
	return code
}

// Steps returns the work of matching a post: bytes read, words compared and
// clauses evaluated.
func (p *Program) Steps(t *fetcher.Tweet) int {
	post := new(post)
	post.reset(t)
	p.match(post)
	return post.steps
}

// Hashtags, Mentions, Cashtags and Links return what is found in a text.
func Hashtags(s string) []string {
	return parts(s, appendHashtags(nil, s, appendLinks(nil, s, new(int))))
}
func Mentions(s string) []string {
	return parts(s, appendMentions(nil, s, appendLinks(nil, s, new(int))))
}
func Cashtags(s string) []string { return parts(s, appendCashtags(nil, s)) }
func Links(s string) []string    { return parts(s, appendLinks(nil, s, new(int))) }

func parts(s string, spans []span) []string {
	list := []string{}
	for _, p := range spans {
		list = append(list, s[p.start:p.end])
	}
	return list
}

// LinkSteps returns how many bytes are read to find the links in a text.
func LinkSteps(s string) (steps int) {
	appendLinks(nil, s, &steps)
	return steps
}

// Tried returns how many programs of a set are tried on a post.
func (s *Set) Tried(t *fetcher.Tweet) (n int) {
	p := new(post)
	p.reset(t)
	p.beginRound(len(s.slots))
	s.try(p, s.always)
	s.lookUp(p)
	for _, round := range p.tried {
		if round == p.round {
			n++
		}
	}
	return n
}
