package htmltext

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Content is the plain text of HTML, and its links.
type Content struct {
	Text  string
	Links []Link // the first MaxLinks
}

// MaxLinks is the most links in Content.Links.
const MaxLinks = 100

// Link is a link in the text that is not a mention or a tag.
type Link struct {
	Href    string
	Display string // as a browser shows it, shortened
}

// Parse converts HTML to text. <br> becomes a line break, paragraphs are separated by a blank
// line, and white space becomes one space as in a browser. The text includes the hidden parts
// of shortened links. Parse never fails: invalid HTML becomes text.
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

// htmlReader has the state of Parse.
type htmlReader struct {
	out    textWriter
	links  []Link
	pre    bool // in <pre>, where white space counts
	hidden bool // in an element whose text is not shown

	// The link that is being read, if inLink is set.
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

// start handles the current token of z, a start tag of type t.
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

// startLink begins a link, unless it is a mention or a hashtag. Servers mark both by class;
// some mark hashtags only by rel="tag".
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

// attributes has the used attributes of a tag. If a name occurs twice, the first counts.
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

// blankLines returns the minimum number of line breaks before and after an element.
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

// textWriter builds the text of a page. It writes breaks and spaces only when text follows,
// so the result neither begins nor ends with them.
type textWriter struct {
	b      strings.Builder
	breaks int
	space  bool
}

func (w *textWriter) String() string { return w.b.String() }

// breakLine adds a line break.
func (w *textWriter) breakLine() { w.breaks++ }

// block makes sure that there are at least n line breaks before the next text.
func (w *textWriter) block(n int) { w.breaks = max(w.breaks, n) }

// write adds s, which must be valid UTF-8. Unless pre is set, white space becomes one space.
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

// isSpace reports whether c is white space in HTML.
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
