package query

import (
	"strings"
	"unicode/utf8"
)

// phrase returns the term of a quoted text that quoted has read. It also reads a proximity ~N
// after the closing quote.
func (l *lexer) phrase(start int, text string, end int) lexeme {
	arg := argument{text: strings.Join(strings.Fields(text), " "), quoted: true}
	if !utf8.ValidString(text) {
		l.f.fail("E_UTF8", start, end, "", "the phrase is not valid UTF-8")
	}
	wild := !l.d.strict()
	words := newPattern(arg.text, false, wild)
	switch {
	case text == "":
		l.f.fail("E_EMPTY_PHRASE", start, end, "write words between the quotes", "the phrase is empty")
	case !words.concrete():
		l.f.fail("E_EMPTY_PHRASE", start, end, "punctuation only separates words", "the phrase %s has no word", quoteShort(text))
	}
	if end < len(l.s) && l.s[end] == '~' {
		digits := end + 1
		for digits < len(l.s) && '0' <= l.s[digits] && l.s[digits] <= '9' {
			digits++
		}
		n := l.s[end+1 : digits]
		switch {
		case len(n) != 1 || n[0] < '1' || n[0] > '6':
			l.f.fail("E_PROXIMITY", end, digits, `write "a b"~N with N from 1 to 6`, "proximity ~%s is not allowed", shorten(n))
		case l.d == V2Search || l.d == Web:
			l.f.fail("E_DIALECT", end, digits, "leave ~"+n+" out", "proximity is only in stream rules and PowerTrack")
		case len(words.words) > maxNear:
			l.f.fail("E_PROXIMITY", start, digits, "join shorter phrases", "proximity takes at most %d words", maxNear)
		case len(words.words) > 1:
			arg.near = int(n[0] - '0')
		}
		end = digits
	}
	return l.leaf(opTerm, start, end, arg)
}

// forced reads +word, which matches the word but not its plural.
func (l *lexer) forced() lexeme {
	start := l.pos
	end := l.runEnd(start + 1)
	text := l.s[start+1 : end]
	if l.d.strict() {
		l.f.fail("E_DIALECT", start, end, "leave the + out", "+word is a term of the web dialect only")
	} else if !plainWord(text) {
		l.f.fail("E_KEYWORD", start, end, `quote it: "`+shorten(text)+`"`, "+ needs a word of letters and digits after it")
	}
	return l.leaf(opTerm, start, end, argument{text: text, force: true})
}

// tag reads #tag, @user or $TAG. from is the position after the prefix.
func (l *lexer) tag(op opID, from int) lexeme {
	start := l.pos
	end := l.runEnd(from)
	text := l.s[from:end]
	good := false
	var want string
	switch op {
	case opHashtag:
		want = "a hashtag has letters, digits and _"
		good = text != ""
		for _, r := range text {
			good = good && tagRune(r)
		}
	case opMention:
		want = "a handle has letters, digits and _"
		good = xHandle.MatchString(text) || l.d == Union && anyHandle.MatchString(text)
	case opCashtag:
		want = "a cashtag has 1 to 6 letters, as $TWTR or $BRK.A; quote an amount of money"
		good = text != "" && cashtagEnd(text, 0) == len(text)
	}
	if !good {
		l.f.fail("E_TAG", start, end, want, "%s is not allowed", quoteShort(l.s[start:end]))
	}
	return l.leaf(op, start, end, argument{text: text})
}

// keyword reads a bare word.
func (l *lexer) keyword(start, end int) lexeme {
	text := l.s[start:end]
	quoteIt := `quote it: "` + shorten(text) + `"`
	arg := argument{text: text}
	first, _ := utf8.DecodeRuneInString(text)
	switch {
	case !utf8.ValidString(text):
		l.f.fail("E_UTF8", start, end, "", "the keyword is not valid UTF-8")
	case strings.Contains(text, "*"):
		l.f.fail("E_WILDCARD", start, end, `write it with spaces round it: "a * b"`, "* is a wild card only inside a phrase")
	case classify(first) == separates || classify(first) == attaches:
		switch {
		case strings.ContainsRune("“”„«»", first):
			quoteIt = `use straight quotes: "`
		case !newPattern(text, false, false).concrete():
			quoteIt = "leave it out: punctuation only separates words"
		}
		l.f.fail("E_KEYWORD", start, end, quoteIt, "a keyword starts with a letter, a digit or an emoji, not with %q", first)
	case l.d == Web && strings.Contains(text, "-"):
		return l.hyphenated(start, end)
	case strings.ContainsFunc(text, func(r rune) bool { return classify(r) == separates }):
		l.f.refuse(l.d.strict(), "PUNCT", start, end, quoteIt, "punctuation separates words")
		arg.quoted = true
	case strings.ContainsRune(text, 0xfe0f):
		l.f.refuse(l.d.strict(), "EMOJI", start, end, quoteIt, "an emoji with a variation selector has to be quoted")
	case text == "NOT":
		l.f.warn("W_NOT", start, end, "write - right before the clause to negate", "NOT is an ordinary keyword")
	}
	return l.leaf(opTerm, start, end, arg)
}

// hyphenated reads a word with hyphens in the web dialect. There state-of-the-art means the same
// as state of the art.
func (l *lexer) hyphenated(start, end int) lexeme {
	text := l.s[start:end]
	l.f.warn("W_PUNCT", start, end, `quote it to keep the words together: "`+shorten(text)+`"`, "hyphens are removed, which leaves separate words")
	group := &node{kind: andNode, start: start, end: end}
	at := start
	for part := range strings.SplitSeq(text, "-") {
		if newPattern(part, false, false).concrete() {
			group.kids = append(group.kids, l.clause(opTerm, at, at+len(part), argument{text: part, quoted: !plainWord(part)}))
		}
		at += len(part) + 1
	}
	l.pos = end
	l.boundary()
	return lexeme{lexLeaf, start, end, group}
}

// operator reads name:value.
func (l *lexer) operator(start, colon int) lexeme {
	spelled := l.s[start:colon]
	end := colon + 1
	quoted, value := false, ""
	switch {
	case end < len(l.s) && l.s[end] == '"':
		quoted = true
		value, end = l.quoted(end)
	case end < len(l.s) && l.s[end] == '[':
		closed := strings.IndexByte(l.s[end:], ']')
		if closed < 0 {
			l.f.fail("E_GEO", end, end+1, "end the list of numbers with ]", "the [ is never closed")
			value, end = l.s[end:], len(l.s)
		} else {
			value, end = l.s[end:end+closed+1], end+closed+1
		}
	default:
		end = l.runEnd(colon + 1)
		value = l.s[colon+1 : end]
	}
	low := strings.ToLower(spelled)
	if prefixes[low] {
		return l.flag(start, colon, end, low, value)
	}
	n, known := names[low]
	if !known {
		l.unknown(start, colon, end, spelled)
		return l.leaf(opTerm, start, end, argument{text: "x"})
	}
	arg := argument{text: value, quoted: quoted}
	if l.named(n, low, start, colon) {
		if strings.HasPrefix(value, "@") && operators[n.op].arg == argHandle {
			at := colon + 1
			if quoted {
				at += strings.IndexByte(l.s[at:], '@')
			}
			l.f.warn("W_AT", at, at+1, "write "+low+":"+value[1:], "handles are written without @ here")
			arg.text = value[1:]
		}
		if f := parseValue(n.op, &arg, l.d); f != nil {
			l.f.fail(f.code, start, end, f.hint, "%s", f.message)
		} else {
			l.style(n.op, &arg, start, end)
		}
	}
	return l.leaf(n.op, start, end, arg)
}

// unknown reports a name that no operator has.
func (l *lexer) unknown(start, colon, end int, spelled string) {
	if spelled == "" {
		l.f.fail("E_UNKNOWN_OP", start, colon+1, "write name:value without spaces, or quote it", "there is no name before the colon")
		return
	}
	hint := `quote text with a colon in it: "` + shorten(l.s[start:end]) + `"`
	if near := nearest(spelled, l.d); near != "" {
		hint = "did you mean " + near + "? Otherwise " + hint
	}
	l.f.fail("E_UNKNOWN_OP", start, colon+1, hint, "there is no operator %s:", shorten(spelled))
}

// flag reads an operator such as is:reply, where the value is part of the name.
func (l *lexer) flag(start, colon, end int, low, value string) lexeme {
	value = strings.ToLower(value)
	negated := low == "exclude"
	if negated {
		low = "filter"
	}
	full := low + ":" + value
	n, known := names[full]
	switch {
	case value == "":
		l.f.fail("E_EMPTY_VALUE", start, end, "write the value right after the colon, without a space", "%s: has no value", l.s[start:colon])
	case !known:
		hint := ""
		if near := nearest(full, l.d); near != "" {
			if negated {
				near = strings.ReplaceAll(near, "filter:", "exclude:")
			}
			hint = "did you mean " + near + "?"
		}
		l.f.fail("E_UNKNOWN_VALUE", colon+1, end, hint, "there is no operator %s", shorten(l.s[start:end]))
	default:
		l.named(n, full, start, end)
	}
	lex := l.leaf(n.op, start, end, argument{})
	lex.node.neg = negated
	return lex
}

// named reports whether the dialect accepts a spelling. If not, it adds an error.
func (l *lexer) named(n name, spelled string, start, end int) bool {
	row := &operators[n.op]
	own := n.op.label(l.d)
	if n.in&l.d.accepts() != 0 {
		if l.d == Union && spelled != own {
			code := "W_ALIAS"
			if n.in == inW {
				code = "W_WEB_NAME"
			}
			l.f.warn(code, start, end, "write "+own, "%s is another name of %s", spelled, own)
		}
		return true
	}
	hint := "leave it out: " + l.d.String() + " has nothing like it"
	switch {
	case row.in&l.d.accepts() != 0:
		hint = "write " + own
	case n.op == opSince || n.op == opUntil || n.op == opSinceTime || n.op == opUntilTime || n.op == opWithinTime:
		hint = "use the request parameters start_time and end_time"
	case n.op == opSinceID || n.op == opMaxID:
		hint = "use the request parameters since_id and until_id"
	}
	code := "E_DIALECT"
	if l.d.strict() && n.in == inW {
		code = "E_WEB_NAME"
	}
	l.f.fail(code, start, end, hint, "%s is not an operator of the %s dialect", spelled, l.d)
	return false
}

// style warns about values that are allowed but may be a mistake.
func (l *lexer) style(op opID, a *argument, start, end int) {
	switch kind := operators[op].arg; {
	case kind == argLang && !knownLanguage(a.text, l.d):
		l.f.warn("W_LANG", start, end, "write one such as en, ja or und", "%s is not a documented language code", a.text)
	case op == opPointRadius && !strings.ContainsAny(l.s[start:end], "kKmM"):
		l.f.warn("W_UNIT", start, end, "write mi or km after the radius", "the radius is taken as miles")
	case l.d == Web && (op == opURL || op == opSource) && strings.ContainsAny(a.text, "- "):
		l.f.warn("W_HYPHEN", start, end, "write _ for spaces and hyphens", "values of the web dialect have neither spaces nor hyphens")
	case l.d != Web && kind == argWords && !a.quoted && !plainWord(a.text):
		l.f.warn("W_QUOTE", start, end, "quote the value", "a value with punctuation should be quoted")
	}
}
