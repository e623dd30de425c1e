package feed

import (
	"html"
	"slices"
	"strings"
)

// outline has the positions of the root and the items in an XML document, valid or not.
type outline struct {
	root  int      // where the root's start tag begins, -1 when there is none
	name  string   // local name of the root, in lower case
	open  []string // start tags of the elements around the first item, the root's first
	items []span   // whole ones, in order
	end   int      // of the last item
	tail  bool     // there is an item without an end
	deep  bool     // elements outside of items are nested too deep
	large bool     // there are more than maxItems or maxMarks

	mended string // the document without what XML forbids, "" if there is nothing of it
}

// span is an item or entry of a document.
type span struct {
	start, end int
	about      string // rdf:about
	base       string // xml:base
	deep       bool   // its elements are nested too deep
}

// tag is a start or end tag.
type tag struct {
	start, end int    // of the tag, with its brackets
	name       string // qualified, as it is written
	closing    bool
	empty      bool // <a/>
}

func (t *tag) local() string {
	_, local, ok := strings.Cut(t.name, ":")
	if !ok {
		local = t.name
	}
	return strings.ToLower(local)
}

// lexer finds the tags of a document.
type lexer struct {
	text  string
	pos   int
	marks int // elements and attributes that next has passed

	mended []byte // see mend
	done   int
}

// mend replaces a part of the text in mended, which has the text up to done.
func (l *lexer) mend(start, end int, by string) {
	l.marks++
	l.mended = append(append(l.mended, l.text[l.done:start]...), by...)
	l.done = end
}

// next returns the next tag, or false at the end. It skips comments, CDATA sections,
// instructions and declarations.
func (l *lexer) next() (t tag, ok bool) {
	for {
		i := strings.IndexByte(l.text[l.pos:], '<')
		if i < 0 {
			return t, false
		}
		start := l.pos + i
		for { // ]]> outside of CDATA, which is text
			j := strings.Index(l.text[l.pos:start], "]]>")
			if j < 0 {
				break
			}
			l.pos += j + len("]]>")
			l.mend(l.pos-1, l.pos, "&gt;")
		}
		rest := l.text[start:]
		switch {
		case strings.HasPrefix(rest, "<!--"):
			ok = l.pass(start+4, "-->")
		case strings.HasPrefix(rest, "<![CDATA["):
			ok = l.pass(start+9, "]]>")
		case strings.HasPrefix(rest, "<?"):
			ok = l.pass(start+2, "?>")
		case strings.HasPrefix(rest, "<!"):
			ok = l.declaration(start + 2)
		case len(rest) > 1 && (isNameStart(rest[1]) || rest[1] == '/' && len(rest) > 2 && isNameStart(rest[2])):
			t, ok = l.tag(start)
			if ok && !t.closing {
				l.marks += 1 + strings.Count(l.text[t.start:t.end], "=")
			}
			return t, ok && l.marks <= maxMarks
		default: // a bare <, which is text
			l.mend(start, start+1, "&lt;")
			l.pos, ok = start+1, l.marks <= maxMarks
		}
		if !ok {
			return t, false
		}
	}
}

// pass goes behind the next end.
func (l *lexer) pass(from int, end string) bool {
	i := strings.Index(l.text[min(from, len(l.text)):], end)
	if i < 0 {
		return false
	}
	l.pos = from + i + len(end)
	return true
}

// declaration moves past <!DOCTYPE … >, including a part in square brackets.
func (l *lexer) declaration(from int) bool {
	brackets := 0
	for i := from; i < len(l.text); i++ {
		switch l.text[i] {
		case '[':
			brackets++
		case ']':
			brackets--
		case '>':
			if brackets <= 0 {
				l.pos = i + 1
				return true
			}
		}
	}
	return false
}

// tag reads the tag that begins at start.
func (l *lexer) tag(start int) (t tag, ok bool) {
	i := start + 1
	if t.closing = l.text[i] == '/'; t.closing {
		i++
	}
	name := i
	for i < len(l.text) && !isNameEnd(l.text[i]) {
		i++
	}
	t.name = l.text[name:i]
	for quote := byte(0); i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '<': // not allowed in a value: a quote is missing
			t.start, t.end = start, i
			l.pos = i
			return t, true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			t.start, t.end = start, i+1
			t.empty = l.text[i-1] == '/' && !t.closing
			l.pos = i + 1
			return t, true
		}
	}
	return t, false
}

// tagHere parses the tag at the beginning of the text. It returns false if there is none.
func (l *lexer) tagHere() (t tag, ok bool) {
	if len(l.text) < 2 {
		return t, false
	}
	return l.tag(0)
}

func isNameStart(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func isNameEnd(c byte) bool {
	return c == '<' || c == '>' || c == '/' || c == ' ' || c == '\t' || c == '\n' || c == '\r'
}

// outlineOf finds the items of an XML document.
func outlineOf(text string) (o outline) {
	o.root = -1
	l := lexer{text: text}
	defer func() {
		if l.done > 0 {
			o.mended = string(l.mended) + text[l.done:]
		}
	}()
	var open []tag
	for {
		t, ok := l.next()
		if o.large = l.marks > maxMarks || len(o.items) > maxItems; !ok || o.large {
			return o
		}
		local := t.local()
		switch {
		case o.root < 0 && t.closing:
		case o.root < 0:
			o.root, o.name = t.start, local
			open = append(open, t)
		case !t.closing && (local == "item" || local == "entry"):
			if o.open == nil {
				for _, t := range open {
					o.open = append(o.open, text[t.start:t.end])
				}
			}
			s, whole := l.item(t)
			if !whole {
				o.tail, o.large = true, l.marks > maxMarks
				return o
			}
			o.items, o.end = append(o.items, s), s.end
		case t.closing:
			open = closeTag(open, t.name)
		case !t.empty:
			open = append(open, t)
			o.deep = o.deep || len(open) > maxDepth
		}
	}
}

// closeTag removes the innermost open element with that name, and all elements inside it.
func closeTag(open []tag, name string) []tag {
	for i := len(open) - 1; i >= max(0, len(open)-maxDepth); i-- {
		if open[i].name == name {
			return open[:i]
		}
	}
	return open
}

// item reads an item, whose start tag is first. The next item, and the end of what contains items,
// end it too. whole is false if there is none of these.
func (l *lexer) item(first tag) (s span, whole bool) {
	start := l.text[first.start:first.end]
	s = span{start: first.start, end: first.end, about: attribute(start, "about"), base: attribute(start, "xml:base")}
	if first.empty {
		return s, true
	}
	var open []tag
	for {
		t, ok := l.next()
		if !ok {
			return s, false
		}
		outer := closeTag(open, t.name)
		switch inside := t.closing && len(outer) < len(open); {
		case inside:
			open = outer
		case t.closing && t.name == first.name:
			s.end = t.end
			return s, true
		case t.closing && slices.Contains(containers, t.local()), !t.closing && t.name == first.name && len(open) == 0:
			l.mend(t.start, t.start, "</"+first.name+">")
			l.pos, s.end = t.start, t.start
			return s, true
		case !t.closing && !t.empty:
			open = append(open, t)
			s.deep = s.deep || len(open) > maxDepth
		}
	}
}

// withoutBases hides each xml:base from a parser that would resolve links against it in a way of
// its own.
func withoutBases(text string) string {
	const name = "xml:base"
	if !strings.Contains(text, name) {
		return text
	}
	var b strings.Builder
	done := 0
	for l := (lexer{text: text}); ; {
		t, ok := l.next()
		if !ok {
			return b.String() + text[done:]
		}
		b.WriteString(text[done:t.start] + strings.ReplaceAll(text[t.start:t.end], name, "xml.base"))
		done = t.end
	}
}

// attribute returns the value of an attribute by its name or its local name, or "" if there is
// none.
func attribute(tag, name string) string {
	for rest := tag; ; {
		i := strings.IndexByte(rest, '=')
		if i < 0 {
			return ""
		}
		key := strings.TrimSpace(rest[:i])
		if j := strings.LastIndexAny(key, " \t\r\n"); j >= 0 {
			key = key[j+1:]
		}
		rest = strings.TrimLeft(rest[i+1:], " \t\r\n")
		if rest == "" || rest[0] != '"' && rest[0] != '\'' {
			continue
		}
		value, after, ok := strings.Cut(rest[1:], rest[:1])
		if !ok {
			return ""
		}
		if _, local, prefixed := strings.Cut(key, ":"); prefixed && local == name || key == name {
			return strings.TrimSpace(html.UnescapeString(value))
		}
		rest = after
	}
}
