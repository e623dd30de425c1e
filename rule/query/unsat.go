package query

import (
	"slices"
	"strconv"
	"strings"
)

// single has the operators for which a post has at most one value. Two clauses of such an
// operator with different values, joined by AND, never match.
var single = map[opID]bool{
	opFrom: true, opTo: true, opRetweetsOf: true, opLang: true, opSource: true, opPlaceCountry: true,
	opConversation: true, opInReplyTo: true, opRetweetsOfTweet: true, opQuotesOfTweet: true, opQuotedUser: true,
}

// checkMeaning warns about clauses joined by AND that contradict each other.
func checkMeaning(n *node, f *findings) {
	for _, k := range n.kids {
		checkMeaning(k, f)
	}
	if n.kind != andNode || n.neg {
		return
	}
	var (
		values = map[opID]*node{}
		said   = map[string]bool{} // clause → negated
		bounds = map[opID]*window{}
		print  printer
	)
	for _, k := range n.kids {
		if k.kind != leafNode {
			continue
		}
		conflict := narrow(bounds, k)
		plain := *k
		plain.neg = false
		text := strings.ToLower(print.print(&plain))
		neg, again := said[text]
		said[text] = k.neg
		conflict = conflict || again && neg != k.neg
		if !k.neg && single[k.op] {
			if first := values[k.op]; first == nil {
				values[k.op] = k
			} else if !sameValue(first, k) {
				conflict = true
			}
		}
		if conflict {
			f.warn("W_UNSAT", n.start, n.end, "join them with OR, or leave one out",
				"%s contradicts a clause before it: this never matches", print.short(k))
			return
		}
	}
	for _, k := range n.kids {
		if k.kind == orNode && !slices.ContainsFunc(k.kids, func(side *node) bool { return !excluded(side, values) }) {
			f.warn("W_UNSAT", n.start, n.end, "join them with OR, or leave one out",
				"each side of %s contradicts a clause beside it: this never matches", print.short(k))
			return
		}
	}
}

// excluded reports whether a side of an OR contradicts values, which has the clauses that are
// joined to the OR by AND.
func excluded(side *node, values map[opID]*node) bool {
	if side.neg {
		return false
	}
	if side.kind == andNode {
		return slices.ContainsFunc(side.kids, func(k *node) bool { return k.kind == leafNode && excluded(k, values) })
	}
	first := values[side.op]
	return side.kind == leafNode && single[side.op] && first != nil && !sameValue(first, side)
}

// sameValue reports whether a post can meet both a and b. A handle and a numeric id may belong to
// the same account.
func sameValue(a, b *node) bool {
	if strings.EqualFold(a.arg.text, b.arg.text) {
		return true
	}
	switch operators[a.op].arg {
	case argHandle:
		return isDigits(a.arg.text) != isDigits(b.arg.text)
	case argLang:
		x, y := currentCode(a.arg.text), currentCode(b.arg.text)
		return sameLanguage(x, y) || sameLanguage(y, x) // such as zh and zh-cn
	}
	return false
}

// window is a range of numbers, both ends included.
type window struct{ lo, hi int64 }

// narrow applies the clause n to the range in bounds of the number that n compares. It reports
// whether the range is then empty.
func narrow(bounds map[opID]*window, n *node) bool {
	var subject opID
	lo, hi := int64(-1<<62), int64(1<<62)
	a := &n.arg
	switch n.op {
	case opSince, opSinceTime:
		subject, lo = opSince, a.lo
	case opUntil, opUntilTime:
		subject, hi = opSince, a.lo-1
	case opMinLikes, opMinReplies, opMinReposts, opMinFollowers:
		subject, lo = n.op, a.lo
	case opSinceID, opMaxID:
		id, err := strconv.ParseInt(a.text, 10, 64)
		if err != nil {
			return false
		}
		subject = opSinceID
		if n.op == opMaxID {
			hi = id
		} else {
			lo = id + 1
		}
	case opFollowers, opFollowing, opTweets, opListed:
		subject, lo = n.op, a.lo
		if a.hi >= 0 {
			hi = a.hi
		}
	default:
		return false
	}
	if subject == opMinFollowers {
		subject = opFollowers
	}
	if n.neg {
		switch {
		case hi == 1<<62:
			lo, hi = -1<<62, lo-1
		case lo == -1<<62:
			lo, hi = hi+1, 1<<62
		default:
			return false // the rest would be two ranges
		}
	}
	w := bounds[subject]
	if w == nil {
		w = &window{-1 << 62, 1 << 62}
		if subject != opSince && subject != opSinceID {
			w.lo = 0 // a count
		}
		bounds[subject] = w
	}
	w.lo, w.hi = max(w.lo, lo), min(w.hi, hi)
	return w.lo > w.hi
}
