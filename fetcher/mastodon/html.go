package mastodon

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// content is a post's HTML as plain text, with its links.
type content struct {
	text  string
	links []link
}

// link is a link of the text other than a mention or a tag.
type link struct {
	href    string
	display string // as a browser shows it, shortened
}

// parseHTML turns a post's HTML into text: <br> is a line break, a paragraph
// is set off by a blank line, white space counts as one space as in a browser.
// The hidden parts of shortened links are kept, so that links are whole. It
// never fails: what is not HTML is text.
func parseHTML(s string) content {
	var r htmlReader
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			r.endLink()
			return content{text: r.out.String(), links: r.links}
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start(z.Token())
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

// htmlReader follows the tags of a post.
type htmlReader struct {
	out    textWriter
	links  []link
	pre    bool // in <pre>, where white space counts
	hidden bool // in an element whose text is not shown

	// The link being read, if inLink is set.
	inLink  bool
	href    string
	display strings.Builder
	spans   []string // classes of the open <span>s, at most maxItems
}

func (r *htmlReader) text(s string) {
	if r.hidden {
		return
	}
	r.out.write(s, r.pre)
	if r.inLink && !slices.Contains(r.spans, "invisible") {
		r.display.WriteString(s)
	}
}

func (r *htmlReader) start(t html.Token) {
	switch t.DataAtom {
	case atom.Br:
		r.out.breakLine()
	case atom.A:
		r.endLink()
		r.startLink(t)
	case atom.Span:
		if r.inLink && t.Type == html.StartTagToken && len(r.spans) < maxItems {
			r.spans = append(r.spans, attribute(t, "class"))
		}
	case atom.Pre:
		r.pre = true
	case atom.Script, atom.Style:
		r.hidden = true
	}
	r.out.block(blankLines(t.DataAtom))
}

func (r *htmlReader) end(a atom.Atom) {
	switch a {
	case atom.A:
		r.endLink()
	case atom.Span:
		if n := len(r.spans); n > 0 {
			if r.spans[n-1] == "ellipsis" {
				r.display.WriteString("…")
			}
			r.spans = r.spans[:n-1]
		}
	case atom.Pre:
		r.pre = false
	case atom.Script, atom.Style:
		r.hidden = false
	}
	r.out.block(blankLines(a))
}

// startLink begins a link unless it is a mention or a tag: servers mark those
// by class, and some tags by rel="tag" alone.
func (r *htmlReader) startLink(t html.Token) {
	class := strings.Fields(attribute(t, "class"))
	if slices.Contains(class, "mention") || slices.Contains(class, "hashtag") ||
		slices.Contains(strings.Fields(attribute(t, "rel")), "tag") {
		return
	}
	r.inLink, r.href = true, attribute(t, "href")
}

func (r *htmlReader) endLink() {
	if r.inLink && r.href != "" && len(r.links) < maxItems {
		r.links = append(r.links, link{r.href, strings.Join(strings.Fields(r.display.String()), " ")})
	}
	r.inLink, r.href, r.spans = false, "", nil
	r.display.Reset()
}

func attribute(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// blankLines is how many line breaks an element's start and end make at least.
func blankLines(a atom.Atom) int {
	switch a {
	case atom.P, atom.Pre, atom.Blockquote, atom.Ul, atom.Ol, atom.Table, atom.Hr,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return 2
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd:
		return 1
	}
	return 0
}

// textWriter puts together the text of a page: breaks and spaces are kept back
// until something follows, so that none is left at either end.
type textWriter struct {
	b      strings.Builder
	breaks int
	space  bool
}

func (w *textWriter) String() string { return w.b.String() }

// breakLine adds a line break.
func (w *textWriter) breakLine() { w.breaks++ }

// block sees to at least n line breaks.
func (w *textWriter) block(n int) { w.breaks = max(w.breaks, n) }

func (w *textWriter) write(s string, pre bool) {
	for _, r := range s {
		switch {
		case pre && r == '\n':
			w.breaks++
		case !pre && (r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\f'):
			w.space = true
		default:
			w.flush()
			w.b.WriteRune(r)
		}
	}
}

func (w *textWriter) flush() {
	switch {
	case w.b.Len() == 0:
	case w.breaks > 0:
		for range w.breaks {
			w.b.WriteByte('\n')
		}
	case w.space:
		w.b.WriteByte(' ')
	}
	w.breaks, w.space = 0, false
}
