package feed

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/rss"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxEntries is the largest number of entries read from a document. The engine takes no more
// posts from one page.
const maxEntries = 1000

// document is a parsed feed.
type document struct {
	entries []entry
	about   about
	// hubs and self are the absolute URLs for WebSub. If the Link headers have such URLs, they
	// come from there, otherwise from the document.
	hubs   []string
	self   string
	next   string // URL of older entries, "" for none
	pauses pauses
	cut    bool // the end is missing, or an item could not be read
	lost   int  // items that could not be read
}

// about has the properties of the feed itself.
type about struct {
	title, link, language string
	authors               []person
}

type person struct{ name, email string }

// entry is a parsed item of a feed.
type entry struct {
	guid               string   // "" for none
	link               string   // absolute, "" for none
	title              string   // a line of plain text
	summary, content   string   // HTML, unless plain
	plain              bool     // content is plain text
	base               *url.URL // of the links in these; nil for the link, otherwise the site
	published, updated date
	authors            []person
	categories         []string
	enclosures         []fetcher.Enclosure
	image              string
	language           string
}

// parse parses a feed in RSS, Atom or JSON Feed. base is the feed's URL; header is the answer's
// header and may be nil. If the document has errors, parse returns the items that are complete.
// If the document is not a feed, the error is fetcher.ErrMalformed.
func parse(body []byte, header http.Header, base *url.URL) (*document, error) {
	text := strings.TrimLeft(toUTF8(body, header.Get("Content-Type")), " \t\r\n\x00\ufeff")
	var (
		doc *document
		err error
	)
	if strings.HasPrefix(text, "{") {
		doc, err = parseJSON(text, base)
	} else {
		doc, err = parseXML(legalReferences(legal(text)), base)
	}
	if err != nil {
		return nil, err
	}
	if hubs, self := headerLinks(header, base); len(hubs) > 0 {
		doc.hubs = hubs
		if self != "" {
			doc.self = self
		}
	}
	if len(doc.entries) > maxEntries { // keep the newest; some feeds begin with the oldest
		slices.SortStableFunc(doc.entries, func(a, b entry) int { return b.published.at.Compare(a.published.at) })
		doc.entries = doc.entries[:maxEntries]
	}
	return doc, nil
}

// legal removes the characters that XML forbids (XML 1.0, section 2.2).
func legal(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text)
}

var reference = regexp.MustCompile(`&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));`)

// legalReferences removes references to characters that XML forbids, which would end the document
// for a parser. As in HTML, those from 128 to 159 are references to windows-1252.
func legalReferences(text string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		m, base := reference.FindStringSubmatch(ref), 10
		if m[1] != "" {
			base = 16
		}
		n, err := strconv.ParseInt(m[1]+m[2], base, 32)
		switch {
		case err != nil || !utf8.ValidRune(rune(n)) || legal(string(rune(n))) == "":
			return ""
		case n >= 0x80 && n <= 0x9F:
			return html.UnescapeString(ref)
		}
		return ref
	})
}

// malformed returns a fetcher.ErrMalformed with a text.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", fetcher.ErrMalformed, fmt.Sprintf(format, args...))
}

// rssTranslator does not search each entry's HTML for pictures, because that is slow.
var rssTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true}

// parseRSS parses a feed in RSS with gofeed. It turns a panic of the parser into an error.
// items has the attributes of the items that gofeed does not read: their guid in RSS 1.0, and
// their base.
func parseRSS(text string, items []span, base *url.URL) (doc *document, err error) {
	defer func() {
		if v := recover(); v != nil {
			doc, err = nil, fmt.Errorf("the parser panicked: %v", v)
		}
	}()
	read, err := (&rss.Parser{}).Parse(strings.NewReader(withoutBases(text)))
	if err != nil {
		return nil, err
	}
	feed, err := rssTranslator.Translate(read)
	if err != nil {
		return nil, err
	}
	doc = &document{about: about{title: titleText(feed.Title), link: absolute(base, feed.Link), language: feed.Language, authors: people(feed.Authors)}}
	for _, l := range atomLinks(read.Extensions) {
		doc.addLink(l.Attrs["rel"], absolute(base, l.Attrs["href"]))
	}
	doc.pauses = readPauses(read)
	for i, item := range feed.Items {
		var about span
		if i < len(items) {
			about = items[i]
		}
		doc.entries = append(doc.entries, convertItem(item, read.Items[i], about, base))
	}
	return doc, nil
}

func convertItem(item *gofeed.Item, read *rss.Item, about span, base *url.URL) entry {
	e := entry{
		guid: strings.TrimSpace(item.GUID), title: titleText(item.Title), summary: item.Description, content: item.Content,
		published: readDate(item.Published), updated: readDate(item.Updated),
		authors: people(item.Authors), categories: tidy(item.Categories),
	}
	if about.base != "" {
		base = rebase(base, about.base)
		e.base = base
	}
	e.link = absolute(base, item.Link)
	if e.published.at.IsZero() {
		e.published = e.updated
	}
	if e.guid == "" {
		e.guid = about.about
	}
	if item.Image != nil {
		e.image = absolute(base, item.Image.URL)
	}
	e.addEnclosures(item, base)
	e.fillLink(read, base)
	return e
}

func people(list []*gofeed.Person) (out []person) {
	for _, p := range list {
		if p != nil && (p.Name != "" || p.Email != "") {
			out = append(out, person{strings.TrimSpace(p.Name), strings.TrimSpace(p.Email)})
		}
	}
	return out
}

// tidy trims an entry's categories and removes empty and repeated ones.
func tidy(list []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if len(out) == maxCategories {
			return out
		}
		if s = clip(strings.TrimSpace(s), maxTitle); s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// maxReference is the longest URL that is read from a document, in bytes.
const maxReference = 8 << 10

var (
	// percent finds escapes, and each % that begins none and stands for itself.
	percent = regexp.MustCompile(`%([0-9a-fA-F]{2})?`)
	// unescaped finds what is escaped in a query (URL standard, special-query percent-encode set).
	unescaped = regexp.MustCompile(`[^!$-&(-;=?-~]`)
)

// absolute is resolve for a URL as text, "" for none.
func absolute(base *url.URL, ref string) string {
	if u := resolve(base, ref); u != nil {
		return u.String()
	}
	return ""
}

// resolve resolves ref against base. It returns nil if the result is not an http or https
// URL, or ref is too long.
func resolve(base *url.URL, ref string) *url.URL {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxReference {
		return nil
	}
	ref = percent.ReplaceAllStringFunc(ref, func(s string) string {
		if s == "%" {
			return "%25"
		}
		return s
	})
	u, err := url.Parse(ref)
	if err != nil {
		u, err = url.Parse(strings.ReplaceAll(ref, " ", "%20"))
	}
	if err != nil {
		return nil
	}
	u.RawQuery = unescaped.ReplaceAllStringFunc(u.RawQuery, url.PathEscape)
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}
