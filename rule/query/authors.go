package query

import (
	"slices"
	"strings"
)

// maxAuthors bounds the accounts whose timelines stand in for a search.
const maxAuthors = 64

// Authors lists accounts, lower case and sorted, whose timelines together have
// every post that answers the query: asking Match about each new post of theirs
// finds what a search would. It is nil when there are none, or more than 64, or
// when a timeline's new posts do not decide: because an operator needs the
// platform, or asks for the author's profile, which few posts carry, or for
// likes, replies or reposts, which a post gets later, or because an author is
// given by an id.
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

// authors is cover for authors alone.
func authors(n *node) []string {
	switch {
	case n.neg:
		return nil
	case n.kind == leafNode:
		if n.op != opFrom || isDigits(n.arg.text) {
			return nil
		}
		return []string{strings.ToLower(n.arg.text)}
	case n.kind == andNode: // each kid's authors are the whole's: take the fewest
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
