package htmltext

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Content is HTML as plain text, with its links.
type Content struct {
	Text  string
	Links []Link // the first MaxLinks
}

// MaxLinks bounds Content.Links.
const MaxLinks = 100

// Link is a link of the text other than a mention or a tag.
type Link struct {
	Href    string
	Display string // as a browser shows it, shortened
}

// Parse turns HTML into text: <br> is a line break, a paragraph
// is set off by a blank line, white space counts as one space as in a browser.
// The hidden parts of shortened links are kept, so that links are whole. It
// never fails: what is not HTML is text.
func Parse(s string) Content {
	if s == "" {
		return Content{}
	}
	var r htmlReader
	r.out.b.Grow(len(s) / 2) // the rest is tags, mostly
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch t := z.Next(); t {
		case html.ErrorToken:
			r.endLink()
			return Content{Text: r.out.String(), Links: r.links}
		case html.TextToken:
			r.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			r.start(z, t)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

// htmlReader follows the tags of a post.
type htmlReader struct {
	out    textWriter
	links  []Link
	pre    bool // in <pre>, where white space counts
	hidden bool // in an element whose text is not shown

	// The link being read, if inLink is set.
	inLink  bool
	href    string
	display strings.Builder
	spans   []string // classes of the open <span>s, at most MaxLinks
}

func (r *htmlReader) text(s []byte) {
	if r.hidden {
		return
	}
	r.out.write(s, r.pre)
	if r.inLink && !slices.Contains(r.spans, "invisible") {
		r.display.Write(s)
	}
}

// start reads a start tag that z is at, of type t.
func (r *htmlReader) start(z *html.Tokenizer, t html.TokenType) {
	name, more := z.TagName()
	tag := atom.Lookup(name)
	var a attributes
	if more && (tag == atom.A || tag == atom.Span) {
		a = readAttributes(z)
	}
	switch tag {
	case atom.Br:
		r.out.breakLine()
	case atom.A:
		r.endLink()
		r.startLink(a)
	case atom.Span:
		if r.inLink && t == html.StartTagToken && len(r.spans) < MaxLinks {
			r.spans = append(r.spans, a.class)
		}
	case atom.Pre:
		r.pre = true
	case atom.Script, atom.Style:
		r.hidden = true
	}
	r.out.block(blankLines(tag))
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
func (r *htmlReader) startLink(a attributes) {
	class := strings.Fields(a.class)
	if slices.Contains(class, "mention") || slices.Contains(class, "hashtag") ||
		slices.Contains(strings.Fields(a.rel), "tag") {
		return
	}
	r.inLink, r.href = true, a.href
}

func (r *htmlReader) endLink() {
	if r.inLink && r.href != "" && len(r.links) < MaxLinks {
		r.links = append(r.links, Link{r.href, strings.Join(strings.Fields(r.display.String()), " ")})
	}
	r.inLink, r.href, r.spans = false, "", nil
	r.display.Reset()
}

// attributes are those of a tag that matter, the first of each name.
type attributes struct{ href, class, rel string }

func readAttributes(z *html.Tokenizer) attributes {
	var a attributes
	var had [3]bool
	set := func(i int, s *string, value []byte) {
		if !had[i] {
			had[i], *s = true, string(value)
		}
	}
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			set(0, &a.href, value)
		case "class":
			set(1, &a.class, value)
		case "rel":
			set(2, &a.rel, value)
		}
	}
	return a
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

// write adds a piece of text, which is valid UTF-8: JSON has nothing else.
func (w *textWriter) write(s []byte, pre bool) {
	for len(s) > 0 {
		switch c := s[0]; {
		case pre && c == '\n':
			w.breaks++
			s = s[1:]
		case !pre && isSpace(c):
			w.space = true
			s = s[1:]
		default:
			end := 1
			for end < len(s) && !(pre && s[end] == '\n') && !(!pre && isSpace(s[end])) {
				end++
			}
			w.flush()
			w.b.Write(s[:end])
			s = s[end:]
		}
	}
}

// isSpace reports whether a browser takes c for white space.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

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
