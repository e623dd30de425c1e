package feed

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"

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
}

// about has the properties of the feed itself.
type about struct {
	title, link, language, description, image string
	authors                                   []person
}

type person struct{ name, email string }

// entry is a parsed item of a feed.
type entry struct {
	guid               string // "" for none
	link               string // absolute, "" for none
	title              string // as in the document, may contain HTML
	summary, content   string // HTML, unless plain
	plain              bool   // content is plain text
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
		doc, err = parseXML(text, base)
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

// malformed returns a fetcher.ErrMalformed with a text.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", fetcher.ErrMalformed, fmt.Sprintf(format, args...))
}

// rssTranslator does not search each entry's HTML for pictures, because that is slow.
var rssTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true}

// parseFeed calls gofeed's parser. It turns a panic of the parser into an error.
func parseFeed(text string) (feed *gofeed.Feed, err error) {
	defer func() {
		if v := recover(); v != nil {
			feed, err = nil, fmt.Errorf("the parser panicked: %v", v)
		}
	}()
	p := gofeed.NewParser()
	p.KeepOriginalFeed, p.RSSTranslator = true, rssTranslator
	return p.ParseString(text)
}

// convert makes a document from the result of gofeed. items has the rdf:about of each item,
// which is its guid in RSS 1.0. gofeed does not read it.
func convert(feed *gofeed.Feed, items []span, base *url.URL) *document {
	doc := &document{about: about{
		title: feed.Title, link: absolute(base, feed.Link), language: feed.Language, description: feed.Description,
		authors: people(feed.Authors),
	}}
	if feed.Image != nil {
		doc.about.image = absolute(base, feed.Image.URL)
	}
	doc.links(feed, base)
	doc.pauses = readPauses(feed)
	doc.entries = make([]entry, len(feed.Items))
	for i, item := range feed.Items {
		e := &doc.entries[i]
		*e = convertItem(item, base)
		if e.guid == "" && i < len(items) {
			e.guid = items[i].about
		}
		e.fillLink(feed, i, base)
	}
	return doc
}

func convertItem(item *gofeed.Item, base *url.URL) entry {
	e := entry{
		guid: strings.TrimSpace(item.GUID), link: absolute(base, item.Link), title: item.Title, summary: item.Description, content: item.Content,
		published: readDate(item.Published), updated: readDate(item.Updated),
		authors: people(item.Authors), categories: tidy(item.Categories),
	}
	if e.published.at.IsZero() {
		e.published = e.updated
	}
	if item.Image != nil {
		e.image = absolute(base, item.Image.URL)
	}
	e.addEnclosures(item, base)
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

// absolute resolves ref against base. It returns "" if the result is not an http or https
// URL, or ref is too long.
func absolute(base *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxReference {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		u, err = url.Parse(strings.ReplaceAll(ref, " ", "%20"))
	}
	if err != nil {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}
