package query

import (
	"errors"
	"fmt"
	"strings"
)

// Loss is a part of a query that another dialect cannot express.
type Loss struct {
	Start, End int    // bytes of the query
	Clause     string // in the query's own dialect
	Why        string // what is missing, and what to do instead, if anything
}

// String returns the loss in one line.
func (l Loss) String() string { return l.Clause + ": " + l.Why }

// Report lists the losses of a translation, in the order in which they were found.
type Report struct{ Losses []Loss }

// Exact reports whether nothing is lost.
func (r Report) Exact() bool { return len(r.Losses) == 0 }

// Translate returns the query in V2Stream or V2Search, and a report of the losses. Parse accepts
// the result in that dialect. The result is "" if the clauses that are left cannot stand alone,
// or if to is another dialect.
func (p *Program) Translate(to Dialect) (string, Report) {
	t := &translator{from: p.dialect, to: to}
	if !to.strict() {
		t.lose(p.root, "queries are translated to v2stream and v2search only")
		return "", t.report
	}
	root := t.node(p.root)
	if root != nil && p.hidesRetweets && !excludesRetweets(root) {
		root = &node{kind: andNode, start: root.start, end: root.end, kids: []*node{root, {op: opIsRetweet, neg: true}}}
	}
	t.remarks(p)
	if root == nil {
		return "", t.report
	}
	text := (&printer{d: to}).print(normalise(root, false))
	// The caller checks the length, because its limit depends on the X subscription.
	if _, _, err := Parse(text, Options{Dialect: to, MaxLength: 1 << 20, MaxClauses: 1 << 20, MaxDepth: 1 << 10}); err != nil {
		why := "the rest is not accepted there"
		var bad *SyntaxError
		if errors.As(err, &bad) {
			why += ": " + bad.Errors[0].Message
		}
		t.lose(p.root, why)
		return "", t.report
	}
	return text, t.report
}

type translator struct {
	from, to Dialect
	report   Report
}

func (t *translator) lose(n *node, why string) {
	t.report.Losses = append(t.report.Losses, Loss{n.start, n.end, (&printer{d: t.from}).print(n), why})
}

// node translates n. It returns nil if nothing of n can be translated.
func (t *translator) node(n *node) *node {
	if n.kind == leafNode {
		return t.leaf(n)
	}
	if n.neg {
		t.lose(n, "a group cannot be negated there")
		return nil
	}
	out := &node{kind: n.kind, start: n.start, end: n.end}
	for _, k := range n.kids {
		if kid := t.node(k); kid != nil {
			out.kids = append(out.kids, kid)
		}
	}
	if len(out.kids) == 0 {
		return nil
	}
	return out
}

// leaf translates a clause.
func (t *translator) leaf(n *node) *node {
	out := *n
	switch n.op {
	case opTerm:
		return t.term(&out)
	case opURL, opSource, opPlace:
		if t.from == Web { // _ is a space or a hyphen there
			out.arg.text = strings.ReplaceAll(out.arg.text, "_", " ")
		}
	case opIncludeRetweets:
		return nil // the X API finds native retweets without it
	case opContains, opURLContains:
		if operators[n.op].in&t.to.accepts() == 0 {
			return t.asWords(&out)
		}
	case opGeocode:
		if miles(n.arg.geo[2], n.arg.unit) >= maxMiles {
			t.lose(n, "a radius has to be below 25 mi there")
			return nil
		}
		out.op = opPointRadius
		out.arg.text = fmt.Sprintf("[%s %s %s%s]", formatFloat(n.arg.geo[0]), formatFloat(n.arg.geo[1]), formatFloat(n.arg.geo[2]), n.arg.unit)
	}
	if operators[out.op].in&t.to.accepts() == 0 {
		t.lose(n, missing(n.op))
		return nil
	}
	if kind := operators[n.op].arg; kind != argNone && kind != argCircle && kind != argBox || n.op == opMention || n.op == opHashtag {
		check := argument{text: out.arg.text, quoted: true}
		if f := parseValue(out.op, &check, t.to); f != nil {
			t.lose(n, f.message+" there")
			return nil
		}
	}
	if n.op == opMention && !xHandle.MatchString(n.arg.text) {
		t.lose(n, "handles have letters, digits and _ there")
		return nil
	}
	if n.op == opMention && isDigits(n.arg.text) && t.from == Union {
		t.lose(n, "a number is a handle there, and no id")
	}
	return &out
}

// missing says why an operator is left out.
func missing(op opID) string {
	switch op {
	case opSince, opUntil, opSinceTime, opUntilTime, opWithinTime:
		return "there is no such operator; use the request parameters start_time and end_time"
	case opSinceID, opMaxID:
		return "there is no such operator; use the request parameters since_id and until_id"
	}
	return "there is no such operator"
}

// term translates a keyword or phrase.
func (t *translator) term(n *node) *node {
	a := &n.arg
	wild := a.quoted && !t.from.strict() && strings.Contains(" "+a.text+" ", " * ")
	if t.from == Web && !a.quoted && !a.force && len(a.words.words) == 1 && a.words.stem {
		t.lose(n, "singular and plural are different words there")
	}
	a.force = false
	a.quoted = a.quoted || !plainWord(a.text)
	near := a.near > 0 && t.to == V2Search
	if !near && !wild {
		return n
	}
	why := "there is no proximity; the words may stand anywhere"
	parts := strings.Fields(a.text)
	if !near {
		why = "there are no wild cards; the parts may stand anywhere"
		parts = strings.Split(" "+a.text+" ", " * ")
	}
	if n.neg {
		t.lose(n, why+", which cannot be negated there")
		return nil
	}
	t.lose(n, why)
	group := &node{kind: andNode, start: n.start, end: n.end}
	for _, part := range parts {
		if part = strings.TrimSpace(part); newPattern(part, false, false).concrete() {
			group.kids = append(group.kids, &node{op: opTerm, start: n.start, end: n.end, arg: argument{text: part, quoted: true}})
		}
	}
	return group
}

// asWords replaces the search for a substring by a search for the words of the substring.
func (t *translator) asWords(n *node) *node {
	words := newPattern(n.arg.text, false, false)
	if !words.concrete() || len(words.words) > maxPhrase {
		t.lose(n, missing(n.op))
		return nil
	}
	t.lose(n, "there is no search for substrings; whole words are compared")
	if n.op == opURLContains {
		n.op = opURL
	} else {
		n.op = opTerm
		n.arg.text = strings.Join(strings.Fields(n.arg.text), " ")
		n.arg.near = 0
	}
	n.arg.quoted = true
	return n
}

func excludesRetweets(root *node) bool {
	if root.kind == leafNode {
		return root.op == opIsRetweet && root.neg
	}
	for _, k := range root.kids {
		if root.kind == andNode && !root.neg && k.kind == leafNode && k.op == opIsRetweet && k.neg {
			return true
		}
	}
	return false
}

// remarks reports terms that mean something else in the other dialect, with the same spelling.
func (t *translator) remarks(p *Program) {
	var accents, text bool
	p.root.walk(false, func(n *node, _ bool) {
		text = text || n.op == opTerm
		if n.op == opTerm || n.op == opHashtag {
			accents = accents || string(appendFolded(nil, n.arg.text, false)) != string(appendFolded(nil, n.arg.text, true))
		}
	})
	if accents && t.from.exact() != t.to.exact() {
		t.lose(p.root, "accents count in the v2stream dialect only")
	}
	if text && t.from == Web {
		t.lose(p.root, "keywords match links and the author's names in the web dialect only")
	}
}
