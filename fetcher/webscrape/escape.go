package webscrape

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// escapeText puts backslashes before what Markdown would read as markup in a
// tree's text. The converter's own escaping, which is switched off, takes time
// in the square of the text's length: minutes for 4 MiB of brackets.
func escapeText(n *html.Node, inTable, inCode bool) {
	switch n.DataAtom {
	case atom.Table:
		inTable = true
	case atom.Pre, atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Var: // what the converter takes for code
		inCode = true
	}
	for c := range n.ChildNodes() {
		switch {
		case c.Type != html.TextNode:
			escapeText(c, inTable, inCode)
		case !inCode:
			c.Data = escape(c.Data, startsLine(c), inTable)
		case inTable:
			c.Data = strings.ReplaceAll(c.Data, "|", `\|`)
		}
	}
}

// startsLine reports whether nothing stands before a text in its line.
func startsLine(n *html.Node) bool {
	for {
		prev := n.PrevSibling
		if prev != nil && prev.Type == html.TextNode && strings.TrimSpace(prev.Data) == "" {
			prev = prev.PrevSibling
		}
		switch {
		case prev != nil:
			return prev.DataAtom == atom.Br || groups[prev.DataAtom]&(block|tabular) != 0
		case n.Parent == nil || groups[n.Parent.DataAtom]&inline == 0:
			return true
		}
		n = n.Parent
	}
}

// escape escapes one text (CommonMark 0.31.2, 2.4). Angle brackets are left to
// the converter, which makes entities of them.
func escape(s string, lineStart, inTable bool) string {
	if !strings.ContainsAny(s, "\\`*_[!~&|#+-=.)\x00") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/16)
	i := 0
	if lineStart {
		i = len(s) - len(strings.TrimLeft(s, " \t\r\n\f"))
		b.WriteString(s[:i])
		if at := lineMark(s[i:]); at >= 0 {
			b.WriteString(s[i : i+at])
			b.WriteByte('\\')
			b.WriteByte(s[i+at])
			i += at + 1
		}
	}
	for ; i < len(s); i++ {
		var prev, next byte = ' ', ' '
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
		case '*':
			mark = !isSpace(prev) || !isSpace(next)
		case '_':
			mark = !isWord(prev) || !isWord(next)
		case '~':
			mark = prev == '~' || next == '~'
		case '!':
			mark = i+1 == len(s) // a link may follow, and be an image then
		case '|':
			mark = inTable
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

// lineMark returns where to put a backslash into a text that, at the start of a line,
// would be a heading, a list item or the line under a heading; -1 if it would not.
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
	case c == '-' || c == '+' || c == '=':
		if n == len(s) || isSpace(s[n]) || s[n] == c {
			return 0
		}
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

// isWord reports whether c is part of a letter or a digit; every byte outside ASCII is.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
