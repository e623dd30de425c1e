package query

import (
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Program is a parsed query. It does not change, and its methods are safe for
// concurrent use.
type Program struct {
	dialect Dialect
	now     func() time.Time
	root    *node // normalised, in the order of the query
	plan    *node // root with the cheap clauses of each group first
	view    view
	// hidesRetweets is set in Web unless the query asks for native retweets.
	hidesRetweets bool
}

func newProgram(o Options, root *node, f *findings) *Program {
	p := &Program{dialect: o.Dialect, now: o.Now, root: root, view: viewOf(o.Dialect)}
	p.hidesRetweets = o.Dialect == Web
	root.walk(false, func(n *node, neg bool) {
		compile(n, o.Dialect, f)
		if n.op == opIncludeRetweets || n.op == opIsRetweet && !neg {
			p.hidesRetweets = false
		}
	})
	p.plan, _ = planned(root)
	return p
}

// planned returns a copy of n with the kids of each group ordered by cost. It also returns the
// cost of the most expensive clause.
func planned(n *node) (*node, int) {
	out := *n
	if n.kind == leafNode {
		return &out, int(operators[n.op].cost)
	}
	type priced struct {
		n    *node
		cost int
	}
	kids := make([]priced, len(n.kids))
	most := 0
	for i, k := range n.kids {
		kids[i].n, kids[i].cost = planned(k)
		most = max(most, kids[i].cost)
	}
	slices.SortStableFunc(kids, func(a, b priced) int { return a.cost - b.cost })
	out.kids = make([]*node, len(kids))
	for i, k := range kids {
		out.kids[i] = k.n
	}
	return &out, most
}

// String returns the query in normalised form. With the same options, Parse turns the result into
// an equal program.
func (p *Program) String() string { return (&printer{d: p.dialect}).print(p.root) }

// Canonical returns String with A to Z in lower case in words, phrases, hashtags, mentions,
// cashtags and the accounts of from: and to:. Queries with the same canonical form match the same
// posts, because matching ignores case. Examples are "Moon from:NASA" and "(moon) from:nasa". It
// keeps the order of clauses, and the case of other values such as ids and links.
func (p *Program) Canonical() string { return (&printer{d: p.dialect, fold: true}).print(p.root) }

// Operator is an operator that a program uses.
type Operator struct {
	Name       string // in the program's dialect: "bounding_box", "is:verified"
	Start, End int    // bytes of the query
}

// NeedsUpstream lists the operators that cannot be decided from a fetcher.Tweet, in the order of
// the query. If a query has none, Match can decide it for any post, however it was fetched. Match
// decides some of the listed operators, such as is:verified, if the Tweet has its User.
func (p *Program) NeedsUpstream() []Operator {
	var list []Operator
	p.root.walk(false, func(n *node, _ bool) {
		if operators[n.op].where == upstream {
			list = append(list, Operator{n.op.label(p.dialect), n.start, n.end})
		}
	})
	slices.SortStableFunc(list, func(a, b Operator) int { return a.Start - b.Start })
	return list
}

// posts is a pool of the working memory of matches.
var posts = sync.Pool{New: func() any { return new(post) }}

// maxKept is the most words of a view with which a post returns to the pool. Larger ones are
// dropped.
const maxKept = 8192

func newPost(t *fetcher.Tweet) *post {
	p := posts.Get().(*post)
	p.reset(t)
	return p
}

func (p *post) release() {
	p.tweet, p.text = nil, ""
	for i := range p.views {
		if cap(p.views[i].tokens) > maxKept {
			return
		}
	}
	posts.Put(p)
}

// Match reports whether a post matches the query. If t lacks the data for a clause, the clause is
// unknown. Match then returns true only if the other clauses suffice. It takes time linear in the
// length of the text, and does not allocate after the first calls.
func (p *Program) Match(t *fetcher.Tweet) bool {
	post := newPost(t)
	ok := p.match(post)
	post.release()
	return ok
}

func (p *Program) match(post *post) bool { return p.judge(post) == yes }

func (p *Program) judge(post *post) verdict {
	if p.hidesRetweets && post.tweet.IsRetweet {
		return no
	}
	return p.eval(p.plan, post)
}

// verdict is the result of a clause. The zero value is unknown.
type verdict int8

const (
	unknown verdict = iota
	yes
	no
)

func (v verdict) not() verdict {
	switch v {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

func is(b bool) verdict {
	if b {
		return yes
	}
	return no
}

func (p *Program) eval(n *node, post *post) verdict {
	var v verdict
	if n.kind == leafNode {
		v, _ = p.answer(n, post)
	} else {
		decides := no // a no decides an AND, a yes an OR
		if n.kind == orNode {
			decides = yes
		}
		v = decides.not()
		for _, k := range n.kids {
			kid := p.eval(k, post)
			if kid == decides {
				v = decides
				break
			}
			if kid == unknown {
				v = unknown
			}
		}
	}
	if n.neg {
		return v.not()
	}
	return v
}
