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

// maxEntries bounds the entries of a document that are read: the engine takes no more
// posts from one page.
const maxEntries = 1000

// document is a feed as it was read.
type document struct {
	entries []entry
	about   about
	// hubs and self are what WebSub goes by: those of the Link headers if there are
	// any, else those of the document. They are absolute.
	hubs   []string
	self   string
	next   string // the address of older entries, "" for none
	pauses pauses
	cut    bool // it has no proper end, or an item of it could not be read
}

// about describes the feed itself.
type about struct {
	title, link, language, description, image string
	authors                                   []person
}

type person struct{ name, email string }

// entry is an item of a feed, before it is known which one it is.
type entry struct {
	guid               string // "" for none
	link               string // absolute, "" for none
	title              string // as it is written
	summary, content   string // HTML
	plain              bool   // content is text
	published, updated date
	authors            []person
	categories         []string
	enclosures         []fetcher.Enclosure
	image              string
	language           string
}

// parse reads a feed: RSS, Atom or JSON Feed. base is where it came from, and header what
// came with it, which may be nil. A document with an error in it gives the items that are
// whole. The error is fetcher.ErrMalformed for what is no feed.
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
	if len(doc.entries) > maxEntries { // the newest; some feeds begin with the oldest
		slices.SortStableFunc(doc.entries, func(a, b entry) int { return b.published.at.Compare(a.published.at) })
		doc.entries = doc.entries[:maxEntries]
	}
	return doc, nil
}

// malformed is an error for what is no feed.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", fetcher.ErrMalformed, fmt.Sprintf(format, args...))
}

// rssTranslator spares a parse of each entry's HTML in search of pictures.
var rssTranslator = &gofeed.DefaultRSSTranslator{DisableContentImageScan: true}

// parseFeed is gofeed's parser. A panic of it is an error.
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

// convert takes over what gofeed has read, of items in XML or of a JSON Feed. RSS 1.0 has
// its guids in rdf:about, which gofeed does not read.
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
		published: readDate(item.Published, item.PublishedParsed), updated: readDate(item.Updated, item.UpdatedParsed),
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

// tidy trims the categories of an entry and leaves out empty ones and repetitions.
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

// maxReference bounds the addresses that a document has, in bytes.
const maxReference = 8 << 10

// absolute resolves a reference. What is not http or https then, or too long, is "".
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
