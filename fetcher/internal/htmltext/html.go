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

// Parse converts HTML to text. <br> becomes a line break, blocks are separated by a blank line,
// cells by a tab, and white space becomes one space as in a browser. The text has what a browser
// shows: no scripts, frames, drawings, or texts for browsers without these. It includes the
// hidden parts of shortened links. Parse never fails: invalid HTML becomes text.
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
	out   Writer
	links []Link

	hidden atom.Atom // the open element whose content is not shown, 0 for none
	depth  int       // how many of that name are open
	blocks int       // how many blocks are open in it

	// The link that is being read, if inLink is set.
	inLink  bool
	href    string
	display strings.Builder
	spans   []string // classes of the open <span>s, at most MaxLinks
}

func (r *htmlReader) text(s []byte) {
	if r.hidden != 0 {
		return
	}
	r.out.Text(s)
	if r.inLink && !slices.Contains(r.spans, "invisible") {
		r.display.Write(s)
	}
}

// start handles the current token of z, a start tag of type t.
func (r *htmlReader) start(z *html.Tokenizer, t html.TokenType) {
	name, more := z.TagName()
	tag := atom.Lookup(name)
	if isForeign(r.hidden) {
		z.NextIsNotRawText()
	}
	switch {
	case r.hidden == 0:
	case isForeign(r.hidden) && (roles[tag] == block || roles[tag] == line):
		r.hidden = 0
	case tag == r.hidden && t == html.StartTagToken:
		r.depth++
		return
	case roles[tag] == block && t == html.StartTagToken:
		r.blocks++
		return
	default:
		return
	}
	r.out.Open(tag)
	switch {
	case isHidden(tag):
		if t == html.StartTagToken || !isForeign(tag) { // a slash means nothing in HTML
			r.hidden, r.depth, r.blocks = tag, 1, 0
		}
	case tag == atom.A:
		a := readAttributes(z, more)
		r.endLink()
		r.startLink(a)
	case tag == atom.Span && r.inLink && t == html.StartTagToken && len(r.spans) < MaxLinks:
		r.spans = append(r.spans, readAttributes(z, more).class)
	}
}

// end handles an end tag. One of a block that began before a hidden element ends that, too.
func (r *htmlReader) end(a atom.Atom) {
	switch {
	case r.hidden == 0:
	case a == r.hidden:
		if r.depth--; r.depth > 0 {
			return
		}
		r.hidden = 0
	case roles[a] == block && r.blocks > 0:
		r.blocks--
		return
	case roles[a] == block:
		r.hidden = 0
	default:
		return
	}
	switch a {
	case atom.A:
		r.endLink()
	case atom.Br: // as in browsers
		r.out.Open(a)
	case atom.Span:
		if n := len(r.spans); n > 0 {
			if r.spans[n-1] == "ellipsis" {
				r.display.WriteString("…")
			}
			r.spans = r.spans[:n-1]
		}
	}
	r.out.Close(a)
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

func readAttributes(z *html.Tokenizer, more bool) attributes {
	var a attributes
	var had [3]bool
	set := func(i int, s *string, value []byte) {
		if !had[i] {
			had[i], *s = true, string(value)
		}
	}
	for more {
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
