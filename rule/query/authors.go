package query

import (
	"slices"
	"strings"
)

// maxAuthors is the most accounts that Authors returns.
const maxAuthors = 64

// Authors returns the accounts that a matching post must be from, as sorted handles in lower
// case. So reading their timelines and calling Match finds the same posts as a search. Authors
// returns nil if posts of any account may match, if there are more than 64 accounts, or if one is
// given by its id. It also returns nil if an operator needs data that a new post lacks: data of
// the platform, the author's profile (few posts have it), or likes, replies or reposts (a post
// gets them later).
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

// authors returns handles that include the author of every post that n matches, or nil if there
// is no such list.
func authors(n *node) []string {
	switch {
	case n.neg:
		return nil
	case n.kind == leafNode:
		if n.op != opFrom || isDigits(n.arg.text) {
			return nil
		}
		return []string{strings.ToLower(n.arg.text)}
	case n.kind == andNode: // any kid's list serves for n: take the shortest
		var fewest []string
		for _, k := range n.kids {
			if list := authors(k); len(list) > 0 && (fewest == nil || len(list) < len(fewest)) {
				fewest = list
			}
		}
		return fewest
	}
	var all []string
	for _, k := range n.kids { // an OR needs the lists of all kids
		list := authors(k)
		if len(list) == 0 || len(all)+len(list) > maxAuthors {
			return nil
		}
		all = append(all, list...)
	}
	return all
}
