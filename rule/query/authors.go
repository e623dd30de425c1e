package query

import (
	"slices"
	"strings"
)

// maxAuthors bounds the accounts whose timelines stand in for a search.
const maxAuthors = 64

// Authors returns handles, in lower case and sorted, of accounts whose timelines
// together have every post that matches the query: Match on each new post of
// theirs finds what a search would. It returns nil when there are no such
// accounts or more than 64 of them, when one is given by its id, and when the
// query cannot be decided on a new post: because an operator needs the platform,
// or the author's profile, which few posts carry, or likes, replies or reposts,
// which a post gets later.
func (p *Program) Authors() []string {
	usable := true
	p.root.walk(false, func(n *node, _ bool) {
		switch n.op {
		case opMinLikes, opMinReplies, opMinReposts, opEngagement, opBio, opBioName, opBioLocation:
			usable = false
		default:
			usable = usable && operators[n.op].where == local
		}
	})
	if !usable {
		return nil
	}
	list := authors(p.root)
	slices.Sort(list)
	return slices.Compact(list)
}

// authors returns handles of which each post that n matches has one as its
// author, nil if there is no such list.
func authors(n *node) []string {
	switch {
	case n.neg:
		return nil
	case n.kind == leafNode:
		if n.op != opFrom || isDigits(n.arg.text) {
			return nil
		}
		return []string{strings.ToLower(n.arg.text)}
	case n.kind == andNode: // any kid's list is one of the whole: take the shortest
		var fewest []string
		for _, k := range n.kids {
			if list := authors(k); len(list) > 0 && (fewest == nil || len(list) < len(fewest)) {
				fewest = list
			}
		}
		return fewest
	}
	var all []string
	for _, k := range n.kids { // an OR needs all of them
		list := authors(k)
		if len(list) == 0 || len(all)+len(list) > maxAuthors {
			return nil
		}
		all = append(all, list...)
	}
	return all
}
