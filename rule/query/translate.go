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
	// Effect says what the translation finds because of it: "more", "less" or
	// "other" posts.
	Effect string
}

// String returns the loss in one line.
func (l Loss) String() string {
	return fmt.Sprintf("%s: %s (finds %s)", l.Clause, l.Why, l.Effect)
}

// Report lists what a translation loses, in the order in which it was found.
type Report struct{ Losses []Loss }

// Exact reports whether nothing is lost.
func (r Report) Exact() bool { return len(r.Losses) == 0 }

// Effects of a loss.
const (
	findsMore  = "more"
	findsLess  = "less"
	findsOther = "other"
)

// Translate returns the query in another dialect, and what the translation loses.
// Parse accepts the result in that dialect; it is "" when nothing is left that
// can stand alone.
func (p *Program) Translate(to Dialect) (string, Report) {
	t := &translator{from: p.dialect, to: to}
	root := t.node(p.root, findsMore, false)
	if root != nil {
		root = t.retweets(p, root)
		root = normalise(root, false)
	}
	t.remarks(p)
	if root == nil {
		return "", t.report
	}
	text := (&printer{d: to}).print(root)
	// The caller checks the length: its limit depends on the subscription.
	if _, _, err := Parse(text, Options{Dialect: to, MaxLength: 1 << 20, MaxClauses: 1 << 20, MaxDepth: 1 << 10}); err != nil {
		why := "the rest is not accepted there"
		var bad *SyntaxError
		if errors.As(err, &bad) {
			why += ": " + bad.Errors[0].Message
		}
		t.lose(p.root, why, findsLess)
		return "", t.report
	}
	return text, t.report
}

type translator struct {
	from, to Dialect
	report   Report
}

func (t *translator) lose(n *node, why, effect string) {
	t.report.Losses = append(t.report.Losses, Loss{n.start, n.end, (&printer{d: t.from}).print(n), why, effect})
}

// dropped returns the effect of leaving a clause out: an AND then finds more, an
// OR less, and the other way round in a negated group, which below says.
func dropped(inOr, below bool) string {
	if inOr != below {
		return findsLess
	}
	return findsMore
}

// node translates n; it returns nil when nothing is left. effect is that of
// leaving n out, and below says that n stands in a negated group.
func (t *translator) node(n *node, effect string, below bool) *node {
	if n.kind == leafNode {
		return t.leaf(n, effect, below)
	}
	if n.neg && t.to.strict() {
		t.lose(n, "a group cannot be negated there", effect)
		return nil
	}
	before := len(t.report.Losses)
	out := &node{kind: n.kind, neg: n.neg, start: n.start, end: n.end}
	below = below != n.neg
	for _, k := range n.kids {
		if kid := t.node(k, dropped(n.kind == orNode, below), below); kid != nil {
			out.kids = append(out.kids, kid)
		}
	}
	if len(out.kids) == 0 { // then the effect is that of the group's absence
		for i := range t.report.Losses[before:] {
			t.report.Losses[before+i].Effect = effect
		}
		return nil
	}
	return out
}

// leaf translates a clause; effect is that of leaving it out.
func (t *translator) leaf(n *node, effect string, below bool) *node {
	out := *n
	weaker := findsMore // the effect of a clause that more posts meet than n
	if n.neg != below {
		weaker = findsLess
	}
	switch n.op {
	case opTerm:
		return t.term(&out, weaker)
	case opURL, opSource, opPlace:
		if t.from == Web && t.to != Web { // _ is a space or a hyphen there only
			out.arg.text = strings.ReplaceAll(out.arg.text, "_", " ")
		}
	case opIncludeRetweets:
		if t.to != Web {
			return nil // the others find them anyway: see retweets
		}
	case opNullcast:
		if t.to == Web {
			return nil // posts that are advertisements only are not found there
		}
	case opContains, opURLContains:
		if operators[n.op].in&t.to.accepts() == 0 {
			return t.asWords(&out, effect)
		}
	case opPointRadius:
		if t.to == Web {
			out.op = opGeocode
			out.arg.text = fmt.Sprintf("%s,%s,%s%s", formatFloat(n.arg.geo[1]), formatFloat(n.arg.geo[0]), formatFloat(n.arg.geo[2]), n.arg.unit)
		}
	case opGeocode:
		if t.to != Web && t.to != Union {
			if miles(n.arg.geo[2], n.arg.unit) >= maxMiles {
				t.lose(n, "a radius has to be below 25 mi there", effect)
				return nil
			}
			out.op = opPointRadius
			out.arg.text = fmt.Sprintf("[%s %s %s%s]", formatFloat(n.arg.geo[0]), formatFloat(n.arg.geo[1]), formatFloat(n.arg.geo[2]), n.arg.unit)
		}
	}
	if operators[out.op].in&t.to.accepts() == 0 {
		t.lose(n, missing(n.op), effect)
		return nil
	}
	if kind := operators[n.op].arg; kind != argNone && kind != argCircle && kind != argBox || n.op == opMention || n.op == opHashtag {
		check := argument{text: out.arg.text, quoted: true}
		if f := parseValue(out.op, &check, t.to); f != nil {
			t.lose(n, f.message+" there", effect)
			return nil
		}
	}
	if n.op == opMention && t.to != Union && !xHandle.MatchString(n.arg.text) {
		t.lose(n, "handles have letters, digits and _ there", effect)
		return nil
	}
	if n.op == opMention && isDigits(n.arg.text) && (t.from == Union) != (t.to == Union) {
		if t.to == Union {
			t.lose(n, "a number may be an id there", weaker)
		} else {
			t.lose(n, "a number is a handle there, and no id", opposite(weaker))
		}
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
func (t *translator) term(n *node, weaker string) *node {
	a := &n.arg
	wild := a.quoted && !t.from.strict() && strings.Contains(" "+a.text+" ", " * ")
	if t.from == Web && !a.quoted && !a.force && t.to != Web && len(a.words.words) == 1 && a.words.stem {
		t.lose(n, "singular and plural are different words there", opposite(weaker))
	}
	if a.force && t.to.strict() {
		a.force = false
	}
	if t.to == Web && t.from != Web {
		a.quoted = a.quoted || !a.force // so that its plural does not count
	}
	if t.to.strict() {
		a.quoted = a.quoted || !plainWord(a.text)
	}
	near := a.near > 0 && (t.to == V2Search || t.to == Web)
	if !near && !(wild && t.to.strict()) {
		if !wild && !t.to.strict() && t.from.strict() && strings.Contains(" "+a.text+" ", " * ") {
			a.text = strings.Join(strings.Fields(strings.ReplaceAll(" "+a.text+" ", " * ", " ")), " ") // no wild card there
		}
		return n
	}
	why := "there is no proximity; the words may stand anywhere"
	parts := strings.Fields(a.text)
	if !near {
		why = "there are no wild cards; the parts may stand anywhere"
		parts = strings.Split(" "+a.text+" ", " * ")
	}
	if n.neg && t.to.strict() {
		t.lose(n, why+", which cannot be negated there", findsMore)
		return nil
	}
	t.lose(n, why, weaker)
	group := &node{kind: andNode, neg: n.neg, start: n.start, end: n.end}
	for _, part := range parts {
		if part = strings.TrimSpace(part); newPattern(part, false, false).concrete() {
			group.kids = append(group.kids, &node{op: opTerm, start: n.start, end: n.end, arg: argument{text: part, quoted: true}})
		}
	}
	return group
}

// asWords replaces the search for a substring by one for its words.
func (t *translator) asWords(n *node, effect string) *node {
	words := newPattern(n.arg.text, false, false)
	if !words.concrete() || len(words.words) > maxPhrase {
		t.lose(n, missing(n.op), effect)
		return nil
	}
	t.lose(n, "there is no search for substrings; whole words are compared", findsOther)
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

// retweets adds the clause that keeps native retweets in or out, as the query's
// own dialect does.
func (t *translator) retweets(p *Program, root *node) *node {
	add := func(op opID, neg bool) *node {
		return &node{kind: andNode, start: root.start, end: root.end, kids: []*node{root, {op: op, neg: neg}}}
	}
	switch {
	case p.hidesRetweets && t.to != Web && !excludesRetweets(root):
		return add(opIsRetweet, true)
	case t.from != Web && t.to == Web && !excludesRetweets(root):
		shows := false
		root.walk(false, func(n *node, neg bool) {
			shows = shows || n.op == opIncludeRetweets || n.op == opIsRetweet && !neg
		})
		if !shows {
			return add(opIncludeRetweets, false)
		}
	}
	return root
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

// remarks reports what the same words mean differently in the two dialects.
func (t *translator) remarks(p *Program) {
	var accents, text signs
	p.root.walk(false, func(n *node, neg bool) {
		if n.op == opTerm {
			text.note(neg)
		}
		if n.op == opTerm || n.op == opHashtag {
			folded := string(appendFolded(nil, n.arg.text, false))
			if folded != string(appendFolded(nil, n.arg.text, true)) {
				accents.note(neg)
			}
		}
	})
	if t.from.exact() != t.to.exact() && accents != (signs{}) {
		effect := findsMore
		if t.to.exact() {
			effect = findsLess
		}
		t.lose(p.root, "accents count in the v2stream dialect only", accents.effect(effect))
	}
	if text != (signs{}) && (t.from == Web) != (t.to == Web) {
		effect := findsLess
		if t.to == Web {
			effect = findsMore
		}
		t.lose(p.root, "keywords match links and the author's names in the web dialect only", text.effect(effect))
	}
}

// signs says whether the clauses that a remark is about are negated.
type signs struct{ plain, negated bool }

func (s *signs) note(neg bool) {
	s.plain = s.plain || !neg
	s.negated = s.negated || neg
}

// effect returns the effect on the whole query, e being that on a clause which is
// not negated.
func (s signs) effect(e string) string {
	switch {
	case s.plain && s.negated:
		return findsOther
	case s.negated:
		return opposite(e)
	}
	return e
}

func opposite(e string) string {
	if e == findsMore {
		return findsLess
	}
	return findsMore
}
