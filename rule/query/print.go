package query

import (
	"strings"
	"unicode"
)

// printer writes a tree in normalised form, with the names of a dialect. It writes a space
// between clauses, parentheses around each group inside another, and quotes only where they are
// needed.
type printer struct {
	d    Dialect
	fold bool // see Program.Canonical
	to   strings.Builder
}

func (p *printer) print(n *node) string {
	p.to.Reset()
	p.node(n, leafNode)
	return p.to.String()
}

// node writes n as a part of a group of kind inside.
func (p *printer) node(n *node, inside nodeKind) {
	if n.neg {
		p.to.WriteByte('-')
	}
	if n.kind == leafNode {
		p.leaf(n)
		return
	}
	group := inside != leafNode || n.neg
	if group {
		p.to.WriteByte('(')
	}
	for i, k := range n.kids {
		if i > 0 {
			p.to.WriteString(" ")
			if n.kind == orNode {
				p.to.WriteString("OR ")
			}
		}
		p.node(k, n.kind)
	}
	if group {
		p.to.WriteByte(')')
	}
}

func (p *printer) leaf(n *node) {
	a := &n.arg
	if p.fold && n.op.anyCase() {
		folded := *a
		folded.text = strings.Map(lowerLetter, a.text)
		a = &folded
	}
	switch n.op {
	case opTerm:
		p.term(a)
		return
	case opEmoticon, opQuestion:
		p.to.WriteString(a.text)
		return
	case opHashtag, opMention, opCashtag:
		p.to.WriteString(n.op.label(p.d) + a.text)
		return
	}
	p.to.WriteString(n.op.label(p.d))
	if operators[n.op].arg == argNone {
		return
	}
	p.to.WriteByte(':')
	p.to.WriteString(p.value(n.op, a))
}

// anyCase reports whether the case of an operator's text is ignored on every platform. The case
// of ids may matter, and the case of emoticons does.
func (op opID) anyCase() bool {
	switch op {
	case opTerm, opHashtag, opMention, opCashtag, opFrom, opTo:
		return true
	}
	return false
}

// lowerLetter changes only A to Z to lower case, because platforms fold other letters
// differently.
func lowerLetter(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

func (p *printer) term(a *argument) {
	switch {
	case a.force:
		p.to.WriteString("+" + a.text)
	case plainWord(a.text) && !(a.quoted && p.d == Web):
		p.to.WriteString(a.text) // without quotes; only in Web do quotes matter: they exclude the plural
	default:
		p.to.WriteString(quote(a.text))
		if a.near > 0 {
			p.to.WriteByte('~')
			p.to.WriteByte('0' + byte(a.near))
		}
	}
}

// label returns the name of an operator in a dialect. That is the web's name in Web, and the X
// API's name elsewhere. If the operator has only one of these names, label returns that one.
func (op opID) label(d Dialect) string {
	row := &operators[op]
	if d == Web && row.web != "" || row.name == "" {
		return row.web
	}
	return row.name
}

// quote returns s in quotes. After a backslash at the end it adds a space: otherwise the
// backslash would escape the closing quote. The space is not part of the phrase.
func quote(s string) string {
	s = strings.ReplaceAll(s, `"`, `\"`)
	if strings.HasSuffix(s, `\`) {
		s += " "
	}
	return `"` + s + `"`
}

// value returns an operator's value, in quotes if it needs them.
func (p *printer) value(op opID, a *argument) string {
	switch kind := operators[op].arg; kind {
	case argCircle, argBox:
		return a.text
	case argText, argWords, argLiteral:
		text := a.text
		if p.d == Web && (op == opURL || op == opSource) {
			text = strings.Map(func(r rune) rune {
				if r == ' ' || r == '-' {
					return '_'
				}
				return r
			}, text)
		}
		bare := kind != argWords || p.d == Web
		for _, r := range text {
			if !bareRune(r) {
				bare = false
			}
		}
		if bare || plainWord(text) || text == "OR" || text == "AND" {
			return text
		}
		return quote(text)
	default:
		if !kind.readsBare(a.text) {
			return quote(a.text)
		}
	}
	return a.text
}

// readsBare reports whether the lexer reads a value of kind k as a whole if it has no quotes.
func (k argKind) readsBare(text string) bool {
	return !strings.HasPrefix(text, "[") && (k.commas() || !strings.Contains(text, ",")) && !strings.ContainsFunc(text, unicode.IsSpace)
}

// shorten cuts s to at most 40 characters, for a message.
func shorten(s string) string {
	if len(s) <= 40 {
		return s
	}
	n := 0
	for i := range s {
		if n++; n > 40 {
			return strings.TrimSpace(s[:i]) + "…"
		}
	}
	return s
}

// short returns a short form of the result of print, for a message.
func (p *printer) short(n *node) string { return shorten(p.print(n)) }
