package webscrape

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tidy removes elements without content, removes the converter's own marks from texts, and
// joins adjacent texts.
func tidy(n *html.Node) {
	var text *html.Node // to which the next text is joined
	var joined strings.Builder
	end := func() {
		if text != nil {
			text.Data = marks.Replace(joined.String())
		}
		text = nil
		joined.Reset()
	}
	var next *html.Node
	for c := n.FirstChild; c != nil; c = next {
		next = c.NextSibling
		tidy(c)
		switch g := groups[c.DataAtom]; {
		case c.Type == html.TextNode && text == nil:
			text = c
			joined.WriteString(c.Data)
		case c.Type == html.TextNode:
			joined.WriteString(c.Data)
			n.RemoveChild(c)
		case c.DataAtom == atom.Wbr, g&inline != 0 && g&void == 0 && c.DataAtom != atom.A && c.FirstChild == nil:
			n.RemoveChild(c)
		default:
			end()
		}
	}
	end()
}

// marks removes the characters that the converter uses as marks, such as U+F002 for a line break.
var marks = strings.NewReplacer("\a", "", "\uf002", "")

// escaper puts a backslash before each character of a tree's text that would be markup in
// Markdown. It replaces the converter's own escaping, whose time grows with the square of the
// text's length. That would take minutes for 4 MiB of brackets.
type escaper struct {
	begun bool // the current line is not empty
}

// place says inside which elements a text is.
type place struct {
	code, table, link, heading bool
}

// children escapes the text of a node's children.
func (e *escaper) children(n *html.Node, in place) {
	for c := range n.ChildNodes() {
		if c.Type == html.TextNode {
			e.text(c, in)
			continue
		}
		within := in
		switch c.DataAtom {
		case atom.Table:
			within.table = true
		case atom.A:
			within.link = true
		case atom.Pre, atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Var: // what the converter takes for code
			within.code = true
		}
		g := groups[c.DataAtom]
		within.heading = in.heading || g&heading != 0
		line := c.DataAtom == atom.Br || g&(block|tabular) != 0
		e.begun = e.begun && !line
		e.attributes(c, in)
		e.children(c, within)
		e.begun = (e.begun || c.DataAtom == atom.Img || c.DataAtom == atom.A) && !line
	}
}

func (e *escaper) text(n *html.Node, in place) {
	switch {
	case !in.code:
		n.Data = escape(n.Data, !e.begun, in)
	case in.table:
		n.Data = strings.ReplaceAll(n.Data, "|", `\|`)
	}
	e.begun = e.begun || strings.TrimSpace(n.Data) != ""
}

// attributes escapes those attributes of a link or image that appear in the Markdown.
func (e *escaper) attributes(n *html.Node, in place) {
	for i, a := range n.Attr {
		if a.Key == "alt" || a.Key == "title" {
			in.link = true
			text := escape(marks.Replace(strings.ReplaceAll(a.Val, "\r", " ")), false, in)
			n.Attr[i].Val = strings.ReplaceAll(text, "<", `\<`)
		}
	}
}

// escape escapes one text (CommonMark 0.31.2, 2.4; GitHub's tables and strikethrough).
// The converter itself turns angle brackets into entities.
func escape(s string, lineStart bool, in place) string {
	if !strings.ContainsAny(s, "\\`*_[]!~&|#+-=.):\x00") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	i := 0
	if lineStart {
		i = len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace)) // which the converter trims
		b.WriteString(s[:i])
		if at := lineMark(strings.TrimRightFunc(s[i:], unicode.IsSpace)); at >= 0 {
			b.WriteString(s[i : i+at])
			b.WriteByte('\\')
			b.WriteByte(s[i+at])
			i += at + 1
		}
	}
	closing := len(s) // of a heading: where only # and white space follow
	if in.heading {
		closing = len(strings.TrimRightFunc(s, func(r rune) bool { return r == '#' || unicode.IsSpace(r) }))
	}
	for ; i < len(s); i++ {
		prev, next := byte(0), byte(0) // the characters before and after the text are unknown
		if i > 0 {
			prev = s[i-1]
		}
		if i+1 < len(s) {
			next = s[i+1]
		}
		mark := false
		switch c := s[i]; c {
		case '\\', '`', '[':
			mark = true
		case ']':
			mark = in.link
		case '*', '~':
			mark = !isSpace(prev) || !isSpace(next)
		case '_':
			mark = !isWord(prev) || !isWord(next)
		case '#':
			mark = i >= closing
		case '!':
			mark = i+1 == len(s) // a link that follows would become an image
		case '|':
			mark = in.table
		case '&':
			if isEntity(s[i:]) {
				b.WriteString("&amp;")
				continue
			}
		case 0:
			b.WriteString("\ufffd")
			continue
		}
		if mark {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// lineMark returns the index at which s needs a backslash if it starts a line. Without the
// backslash, the line would be a heading, a list item, or the line under the heading of a
// section or table. lineMark returns -1 if s needs no backslash.
func lineMark(s string) int {
	if s == "" {
		return -1
	}
	n := 1
	switch c := s[0]; {
	case c == '#':
		for n < len(s) && s[n] == '#' {
			n++
		}
		if n <= 6 && (n == len(s) || isSpace(s[n])) {
			return 0
		}
	case c == '-' || c == '+' || c == '=' || c == '*':
		if n == len(s) || isSpace(s[n]) || s[n] == c || s[n] == '|' || s[n] == ':' {
			return 0
		}
	case c == ':':
		if n < len(s) && s[n] == '-' {
			return 0
		}
	case c == '|':
		return 0
	case c >= '0' && c <= '9':
		for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n < len(s) && (s[n] == '.' || s[n] == ')') && (n+1 == len(s) || isSpace(s[n+1])) {
			return n
		}
	}
	return -1
}

// isEntity reports whether s starts with a character reference.
func isEntity(s string) bool {
	end := strings.IndexByte(s[:min(len(s), 34)], ';') // the longest name has 31 letters
	return end > 1 && strings.IndexFunc(s[1:end], func(r rune) bool { return r != '#' && (r >= 0x80 || !isWord(byte(r))) }) < 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// isWord reports whether c is a letter, a digit or a byte outside ASCII.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
