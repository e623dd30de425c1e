package query

import "slices"

// nodeKind is how a node joins its kids.
type nodeKind uint8

const (
	leafNode nodeKind = iota
	andNode
	orNode
)

// node is a clause, or clauses joined by AND or OR. After normalise, an OR is never negated, and
// no AND or OR has a kid of its own kind that is not negated.
type node struct {
	kind       nodeKind
	neg        bool
	start, end int // bytes of the query
	kids       []*node
	op         opID
	arg        argument
}

// argument is the value of a clause. The operator's argKind determines the fields that are set.
type argument struct {
	text   string // as written, without quotes
	quoted bool
	force  bool // +word
	near   int  // proximity, 0 for none

	lo, hi int64 // a count, range (hi is -1 for none), percentage, Unix time or age in seconds
	geo    [4]float64
	unit   string // mi or km

	words   *pattern // terms and argWords
	literal []byte   // folded text of argLiteral
	hash    uint64   // folded text of tags and names
}

// normalise returns a copy of n, negated if neg is set. It merges nested groups of the same kind,
// and replaces a group of one clause by the clause. It turns a negated OR into an AND of
// negations (De Morgan). It keeps a negated AND, because no dialect accepts an OR of negations.
func normalise(n *node, neg bool) *node {
	neg = neg != n.neg
	if n.kind == leafNode {
		leaf := *n
		leaf.neg = neg
		return &leaf
	}
	out := &node{kind: n.kind, start: n.start, end: n.end}
	negKids := false
	if neg {
		if n.kind == orNode {
			out.kind, negKids = andNode, true
		} else if len(n.kids) == 1 {
			negKids = true
		} else {
			out.neg = true
		}
	}
	for _, k := range n.kids {
		k = normalise(k, negKids)
		if k.kind == out.kind && !k.neg {
			out.kids = append(out.kids, k.kids...)
		} else {
			out.kids = append(out.kids, k)
		}
	}
	if out.neg && !slices.ContainsFunc(out.kids, func(k *node) bool { return !k.neg }) {
		out.kind, out.neg = orNode, false // -(-a -b) is a OR b
		for _, k := range out.kids {
			k.neg = false
		}
	}
	if len(out.kids) == 1 {
		only := out.kids[0]
		only.neg = only.neg != out.neg
		if only.neg && only.kind == orNode {
			only.neg = false
			return normalise(only, true)
		}
		return only
	}
	return out
}
