package webscrape

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plainText returns a tree's text, with a blank line between paragraphs, a tab between cells,
// and "- " before a list item. As in a browser, white space becomes one space.
func plainText(n *html.Node) string {
	var w textWriter
	w.node(n, false)
	return w.b.String()
}

// textWriter builds the text of a page. It writes breaks and spaces only when text follows, so
// the result neither begins nor ends with them.
type textWriter struct {
	b      strings.Builder
	breaks int // at most 2 are written
	lines  int // breaks of preformatted text, which all count
	space  bool
	tab    bool
	mark   string // to write before the first text of a list item
}

// node writes a node and its children. The recursion is limited by the depth of the tree, about
// 70.
func (w *textWriter) node(n *html.Node, pre bool) {
	if n.Type == html.TextNode {
		w.text(n.Data, pre)
		return
	}
	breaks := lineBreaks(n.DataAtom)
	w.breaks = max(w.breaks, breaks)
	switch n.DataAtom {
	case atom.Br:
		w.lineBreak(pre)
	case atom.Td, atom.Th:
		w.tab = w.tab || n.PrevSibling != nil
	case atom.Li:
		w.mark = "- "
	case atom.Pre:
		pre = true
	}
	for c := range n.ChildNodes() {
		w.node(c, pre)
	}
	if n.DataAtom == atom.Li || n.DataAtom == atom.Tr {
		w.mark, w.tab = "", false
	}
	if n.DataAtom == atom.Pre {
		w.lines = 0 // drop blank lines at the end of preformatted text
	}
	w.breaks = max(w.breaks, breaks)
}

// lineBreak breaks the line. In preformatted text each break counts, except before the first
// text.
func (w *textWriter) lineBreak(pre bool) {
	switch {
	case !pre:
		w.breaks++
	case w.breaks < 2:
		w.lines++
	}
}

// lineBreaks returns the minimum number of line breaks before and after an element.
func lineBreaks(a atom.Atom) int {
	switch a {
	case atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Caption, atom.Figcaption, atom.Summary:
		return 1
	}
	if groups[a]&block != 0 {
		return 2
	}
	return 0
}

func (w *textWriter) text(s string, pre bool) {
	for len(s) > 0 {
		end := strings.IndexAny(s, " \t\n\r\f")
		switch {
		case end == 0 && pre && s[0] == '\n':
			w.lineBreak(pre)
			s = s[1:]
		case end == 0 && pre && (w.b.Len() > 0 || w.mark != "" || s[0] == '\t' || s[0] == ' '):
			w.flush()
			w.b.WriteByte(s[0])
			s = s[1:]
		case end == 0:
			w.space = true
			s = s[1:]
		default:
			if end < 0 {
				end = len(s)
			}
			w.flush()
			w.b.WriteString(s[:end])
			s = s[end:]
		}
	}
}

func (w *textWriter) flush() {
	switch {
	case w.b.Len() == 0:
	case w.breaks > 0 || w.lines > 0:
		for range max(w.lines, min(w.breaks, 2)) {
			w.b.WriteByte('\n')
		}
	case w.tab:
		w.b.WriteByte('\t')
	case w.space:
		w.b.WriteByte(' ')
	}
	w.b.WriteString(w.mark)
	w.breaks, w.lines, w.space, w.tab, w.mark = 0, 0, false, false, ""
}
