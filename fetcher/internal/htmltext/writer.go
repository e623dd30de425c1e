package htmltext

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

// Writer builds the text of a document from its elements and texts in order. It writes breaks
// and spaces only when text follows, so the text neither begins nor ends with them.
type Writer struct {
	Bullets bool // "- " before a list item

	b      strings.Builder
	pre    int // open elements in which white space counts
	breaks int // line breaks before the next text; at most 2 are written
	lines  int // those of preformatted text, which all count
	space  bool
	tab    bool
	mark   string // before the first text of a list item
}

// String returns the text.
func (w *Writer) String() string { return w.b.String() }

// Open begins an element. One without content, such as <br>, needs no Close.
func (w *Writer) Open(a atom.Atom) {
	switch w.edge(a); {
	case a == atom.Br:
		w.lineBreak()
	case a == atom.Li && w.Bullets:
		w.mark = "- "
	case isPre(a):
		w.pre++
	}
}

// Close ends an element.
func (w *Writer) Close(a atom.Atom) {
	switch {
	case a == atom.Li:
		w.mark = ""
	case a == atom.Tr:
		w.tab = false
	case isPre(a):
		w.pre, w.lines = max(w.pre-1, 0), 0 // drops blank lines at the end of preformatted text
	}
	w.edge(a)
}

// edge separates what is before an element's start or end from what is after it.
func (w *Writer) edge(a atom.Atom) {
	switch roles[a] {
	case box, replaced:
		w.space = true
	case cell:
		w.tab = true
	case line:
		if a != atom.Br {
			w.breaks = max(w.breaks, 1)
		}
	case block:
		w.breaks = max(w.breaks, 2)
	}
}

// lineBreak breaks the line. In preformatted text each break counts, except before the first
// text.
func (w *Writer) lineBreak() {
	switch {
	case w.pre == 0:
		w.breaks++
	case w.breaks < 2:
		w.lines++
	}
}

// Text adds a text, which must be valid UTF-8. Unless it is preformatted, white space becomes
// one space.
func (w *Writer) Text(s []byte) {
	for len(s) > 0 {
		end := bytes.IndexAny(s, " \t\n\r\f")
		switch {
		case end == 0 && w.pre > 0 && s[0] == '\n':
			w.lineBreak()
			s = s[1:]
		case end == 0 && w.pre > 0 && (w.b.Len() > 0 || w.mark != "" || s[0] == '\t' || s[0] == ' '):
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
			w.b.Write(s[:end])
			s = s[end:]
		}
	}
}

func (w *Writer) flush() {
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
