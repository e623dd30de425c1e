package query

// maxWebOperators is about how many clauses the web's search takes.
const maxWebOperators = 22

// checkTree reports errors of a query with correct syntax: it matches nearly every post, or a
// clause is in a place where it is not allowed. root must be normalised.
func checkTree(root *node, d Dialect, f *findings) {
	var leaves, lists int
	positive, selective, usual := false, false, false
	var near, within *node
	root.walk(false, func(n *node, neg bool) {
		leaves++
		switch n.op {
		case opSample, opEmbedding, opFollows, opIncludeRetweets:
			notNegatable(n, neg, d, f)
			if n.op == opIncludeRetweets && d == Union {
				f.warn("W_NO_EFFECT", n.start, n.end, "leave it out", "native retweets are included already")
			}
		case opList:
			if d == Web {
				notNegatable(n, neg, d, f)
			}
			if lists++; lists > 1 && d == V2Search {
				f.fail("E_ONE_LIST", n.start, n.end, "make a rule of each list", "a search query takes one list:")
			}
		case opNullcast:
			if !neg {
				f.fail("E_MUST_NEGATE", n.start, n.end, "write -is:nullcast", "is:nullcast has to be negated")
			}
		case opNear:
			near = n
		case opWithin:
			within = n
		}
		if neg {
			return
		}
		positive = true
		if standalone(n.op, d) {
			selective = true
			usual = usual || !weak(n, d)
		}
	})
	if within != nil && near == nil {
		f.fail("E_NEAR", within.start, within.end, "write near:place within:10km", "within: needs a near:")
	}
	checkWhole(root, f)
	if d == Web && leaves > maxWebOperators {
		f.warn("W_MANY", root.start, root.end, "split it into several rules", "%d clauses; the web takes about %d", leaves, maxWebOperators)
	}
	branch := negativeBranch(root)
	if root.neg {
		branch = root // -(a b) matches nearly every post
	}
	switch {
	case !positive:
		f.fail("E_ONLY_NEGATED", root.start, root.end, "add a keyword or another clause that selects posts", "negated clauses cannot be used alone")
	case !selective:
		f.fail("E_NO_STANDALONE", root.start, root.end, "add a keyword, or an operator such as from: or #", "no clause here can stand alone")
	case branch != nil:
		f.fail("E_NEG_BRANCH", branch.start, branch.end, "group it with a clause that selects posts", "a side of OR that only excludes matches nearly every post")
	case !allStandalone(root, false, d):
		f.refuse(d.strict(), "BRANCH_NOT_STANDALONE", root.start, root.end, "add a keyword to each side of OR", "a side of OR has no clause that can stand alone")
	case !usual:
		f.warn("W_COMBINE", root.start, root.end, "add a keyword", "this usually needs another clause to work")
	}
}

// walk calls f for each leaf. The argument neg of f tells whether the leaf is negated in effect:
// by itself and by the groups around it.
func (n *node) walk(neg bool, f func(leaf *node, neg bool)) {
	neg = neg != n.neg
	if n.kind == leafNode {
		f(n, neg)
	}
	for _, k := range n.kids {
		k.walk(neg, f)
	}
}

func notNegatable(n *node, neg bool, d Dialect, f *findings) {
	if neg {
		f.fail("E_NOT_NEGATABLE", n.start, n.end, "leave the - out", "%s cannot be negated", n.op.label(d))
	}
}

// checkWhole reports clauses that apply to the whole rule but are inside an OR or a negated
// group.
func checkWhole(root *node, f *findings) {
	samples := 0
	var visit func(n *node, top bool)
	visit = func(n *node, top bool) {
		if n.kind == leafNode {
			if n.op == opSample {
				samples++
			}
			switch {
			case n.op == opSample && samples > 1:
				f.fail("E_SAMPLE", n.start, n.end, "leave it out", "a rule has one sample:")
			case top:
			case n.op == opSample:
				f.fail("E_SAMPLE", n.start, n.end, "write (a OR b) sample:10", "sample: applies to the whole rule, so clauses joined by OR have to be grouped")
			case n.op == opIncludeRetweets:
				f.fail("E_INCLUDE", n.start, n.end, "write (a OR b) include:nativeretweets", "include: applies to the whole rule")
			}
		}
		for _, k := range n.kids {
			visit(k, top && n.kind == andNode && !n.neg)
		}
	}
	visit(root, true)
}

// standalone reports whether a rule can consist of op alone.
func standalone(op opID, d Dialect) bool { return operators[op].alone&d.accepts() != 0 }

// weak reports whether a clause is allowed alone but usually finds nothing useful without another
// clause.
func weak(n *node, d Dialect) bool {
	if n.op == opGeocode {
		return true
	}
	if n.op != opTerm || d != Web {
		return false
	}
	for _, r := range n.arg.text {
		if c := classify(r); c == joins || c == alone && !isEmoji(r) {
			return false
		}
	}
	return true
}

// negativeBranch returns a side of an OR that has only negated clauses, or nil if there is none.
// A negated AND counts as a negated clause.
func negativeBranch(n *node) *node {
	if n.neg {
		return nil
	}
	for _, k := range n.kids {
		if n.kind == orNode && onlyExcludes(k) {
			return k
		}
		if found := negativeBranch(k); found != nil {
			return found
		}
	}
	return nil
}

func onlyExcludes(n *node) bool {
	if n.neg || n.kind == leafNode {
		return n.neg
	}
	for _, k := range n.kids {
		if !onlyExcludes(k) {
			return false
		}
	}
	return true
}

// allStandalone reports whether each branch of the query's disjunctive normal form has a positive
// clause that can stand alone. For an AND, one kid with this property is enough, because each
// branch of the AND contains a branch of that kid.
func allStandalone(n *node, neg bool, d Dialect) bool {
	neg = neg != n.neg
	if n.kind == leafNode {
		return !neg && standalone(n.op, d)
	}
	every := (n.kind == orNode) != neg
	for _, k := range n.kids {
		if allStandalone(k, neg, d) != every {
			return !every
		}
	}
	return every
}
