package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lexKind is the kind of a lexeme.
type lexKind uint8

const (
	lexEnd lexKind = iota
	lexLeaf
	lexOpen
	lexClose
	lexOr
	lexAnd
	lexMinus // followed by a clause or group without a space
)

type lexeme struct {
	kind       lexKind
	start, end int
	node       *node // of a lexLeaf: not nil, even if the clause has an error
}

// lexer cuts a query into lexemes, in one pass.
type lexer struct {
	s string
	d Dialect
	f *findings

	pos int
}

// emoticons are terms of the web dialect.
var emoticons = []string{":-)", ":-(", ":)", ":(", ":P", ":D"}

func (l *lexer) next() lexeme {
	for l.pos < len(l.s) {
		r, size := utf8.DecodeRuneInString(l.s[l.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		l.pos += size
	}
	start := l.pos
	if start == len(l.s) {
		return lexeme{lexEnd, start, start, nil}
	}
	if e := emoticonAt(l.s, start); e != "" {
		return l.special(opEmoticon, start, start+len(e), "an emoticon")
	}
	switch l.s[start] {
	case '(':
		l.pos++
		return lexeme{lexOpen, start, l.pos, nil}
	case ')':
		l.pos++
		l.boundary()
		return lexeme{lexClose, start, l.pos, nil}
	case '-':
		return l.minus()
	case '"':
		text, end := l.quoted(start)
		return l.phrase(start, text, end)
	case '?':
		if l.endsAt(start + 1) {
			return l.special(opQuestion, start, start+1, "a lone ?")
		}
	case '+':
		return l.forced()
	}
	r, size := utf8.DecodeRuneInString(l.s[start:])
	switch r {
	case '#', '＃':
		return l.tag(opHashtag, start+size)
	case '@', '＠':
		return l.tag(opMention, start+size)
	case '$':
		return l.tag(opCashtag, start+size)
	}
	end := l.runEnd(start)
	run := l.s[start:end]
	switch colon := strings.IndexByte(run, ':'); {
	case colon >= 0:
		return l.operator(start, start+colon)
	case run == "OR":
		return l.word(lexOr, start, end)
	case run == "AND":
		return l.word(lexAnd, start, end)
	}
	return l.keyword(start, end)
}

func (l *lexer) word(kind lexKind, start, end int) lexeme {
	l.pos = end
	l.boundary()
	return lexeme{kind, start, end, nil}
}

// runEnd returns the position of the first white space, parenthesis or quote from i on, or the
// end of the query.
func (l *lexer) runEnd(i int) int {
	for i < len(l.s) {
		r, size := utf8.DecodeRuneInString(l.s[i:])
		if r == '(' || r == ')' || r == '"' || unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

// endsAt reports whether a clause can end before byte i.
func (l *lexer) endsAt(i int) bool { return endsAt(l.s, i) }

func endsAt(s string, i int) bool {
	if i >= len(s) || s[i] == ')' {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.IsSpace(r)
}

// boundary reports a clause that is not separated from the next one.
func (l *lexer) boundary() {
	if !l.endsAt(l.pos) {
		l.f.fail("E_SPACE", l.pos, l.pos+1, "put a space between clauses; a value with quotes or parentheses has to be quoted as a whole",
			"a clause starts right after another one")
	}
}

func emoticonAt(s string, i int) string {
	if s[i] != ':' {
		return ""
	}
	for _, e := range emoticons {
		if strings.HasPrefix(s[i:], e) && endsAt(s, i+len(e)) {
			return e
		}
	}
	return ""
}

// leaf returns the clause from start to end, and moves the lexer to its end.
func (l *lexer) leaf(op opID, start, end int, arg argument) lexeme {
	l.pos = end
	l.boundary()
	return lexeme{lexLeaf, start, end, l.clause(op, start, end, arg)}
}

// clause returns the node of a clause. It reports an error if the clause has more words than a
// pattern can have.
func (l *lexer) clause(op opID, start, end int, arg argument) *node {
	if op == opTerm && len(arg.text) > maxPhrase { // a word has one byte or more
		if n := len(newPattern(arg.text, false, arg.quoted && !l.d.strict()).words); n > maxPhrase {
			l.f.fail("E_PHRASE_TOO_LONG", start, end, "join shorter phrases", "the clause has %d words; at most %d are allowed", n, maxPhrase)
		}
	}
	return &node{op: op, start: start, end: end, arg: arg}
}

// special returns a term that only Union and Web have. It reports an error in other dialects.
func (l *lexer) special(op opID, start, end int, what string) lexeme {
	if l.d.strict() {
		l.f.fail("E_DIALECT", start, end, "leave it out, or use the web dialect", "%s is a term of the web dialect only", what)
	}
	return l.leaf(op, start, end, argument{text: l.s[start:end]})
}

func (l *lexer) minus() lexeme {
	start := l.pos
	l.pos++
	if !l.endsAt(l.pos) && l.s[l.pos] != '-' {
		return lexeme{lexMinus, start, l.pos, nil}
	}
	for l.pos < len(l.s) && l.s[l.pos] == '-' {
		l.pos++
	}
	if l.d == Web && l.endsAt(l.pos) {
		l.f.warn("W_MINUS", start, l.pos, "write - right before the clause to negate", "a - that stands alone is dropped")
		return l.next()
	}
	l.f.fail("E_MINUS", start, l.pos, "write one - right before the clause to negate", "this - negates nothing")
	return lexeme{lexLeaf, start, l.pos, &node{start: start, end: l.pos}}
}

// quoted reads the phrase in quotes at start. It returns the text and the position after the
// closing quote.
func (l *lexer) quoted(start int) (text string, end int) {
	i := start + 1
	plain := true
	for i < len(l.s) && l.s[i] != '"' {
		if l.s[i] == '\\' && i+1 < len(l.s) && l.s[i+1] == '"' {
			plain = false
			i++
		}
		i++
	}
	if i >= len(l.s) {
		l.f.fail("E_QUOTE", start, start+1, `end the phrase with "; write \" for a quote in it`, "the quote is never closed")
		return "unclosed", len(l.s)
	}
	text = l.s[start+1 : i]
	if !plain {
		text = strings.ReplaceAll(text, `\"`, `"`)
	}
	return strings.TrimSpace(text), i + 1
}
