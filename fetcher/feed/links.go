package feed

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxLinks is the largest number of hubs kept for a feed.
const maxLinks = 8

// addLink adds a link of the feed itself: a hub, its topic or the page of older entries.
func (d *document) addLink(rel, href string) {
	switch rel = relation(rel); {
	case href == "":
	case rel == "hub" && len(d.hubs) < maxLinks && !slices.Contains(d.hubs, href):
		d.hubs = append(d.hubs, href)
	case rel == "self" && d.self == "":
		d.self = href
	case rel == "next" && d.next == "":
		d.next = href
	}
}

// relation returns a relation of Atom in its short form (RFC 4287, section 4.2.7.2).
func relation(rel string) string {
	rel = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(rel)), "http://www.iana.org/assignments/relation/")
	return cmp.Or(rel, "alternate")
}

// atomLinks are the Atom links in RSS.
func atomLinks(e ext.Extensions) (links []ext.Extension) {
	for _, prefix := range []string{"atom", "atom10", "atom03"} {
		links = append(links, e[prefix]["link"]...)
	}
	return links
}

// fillLink sets the link of an entry for which gofeed found none. It tries a guid that is a
// permalink, then an Atom link.
func (e *entry) fillLink(item *rss.Item, base *url.URL) {
	if e.link != "" {
		return
	}
	if g := item.GUID; g != nil && !strings.EqualFold(strings.TrimSpace(g.IsPermalink), "false") && isWeb(g.Value) {
		e.link = absolute(base, g.Value)
	}
	if e.link == "" {
		var links []atomLink
		for _, l := range atomLinks(item.Extensions) {
			links = append(links, atomLink{Rel: l.Attrs["rel"], Href: absolute(base, l.Attrs["href"]), Type: l.Attrs["type"]})
		}
		e.link = atomHref(links, "alternate")
	}
	if e.link == "" && item.GUID == nil && e.guid != "" {
		e.link = absolute(nil, e.guid) // rdf:about is the page's URL, if it is a URL
	}
}

func isWeb(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")
}

// enclose adds a file to an entry, unless the entry has a file with the same address.
func (e *entry) enclose(base *url.URL, href, kind, length string) {
	const most = 32
	href = absolute(base, href)
	known := slices.ContainsFunc(e.enclosures, func(o fetcher.Enclosure) bool { return o.URL == href })
	if href == "" || known || len(e.enclosures) == most {
		return
	}
	n, err := strconv.ParseInt(strings.TrimSpace(length), 10, 64)
	if err != nil || n < 0 {
		n = 0
	}
	e.enclosures = append(e.enclosures, fetcher.Enclosure{URL: href, Type: strings.ToLower(strings.TrimSpace(kind)), Length: n})
}

// addEnclosures adds the files of an item: its enclosures, and the contents named by Media RSS.
func (e *entry) addEnclosures(item *gofeed.Item, base *url.URL) {
	for _, enc := range item.Enclosures {
		if enc != nil {
			e.enclose(base, enc.URL, enc.Type, enc.Length)
		}
	}
	media := item.Extensions["media"]
	contents := slices.Clone(media["content"])
	for _, g := range media["group"] {
		contents = append(contents, g.Children["content"]...)
	}
	for _, c := range contents {
		e.enclose(base, c.Attrs["url"], mediaKind(c.Attrs["type"], c.Attrs["medium"]), c.Attrs["fileSize"])
	}
}

// mediaKind returns the media type of a content of Media RSS, which may only have a medium.
func mediaKind(kind, medium string) string {
	if kind == "" && (medium == "image" || medium == "video" || medium == "audio") {
		return medium + "/*"
	}
	return kind
}

// headerLinks returns the hubs and the topic in the Link headers (RFC 8288).
func headerLinks(h http.Header, base *url.URL) (hubs []string, self string) {
	for _, line := range h.Values("Link") {
		for _, item := range strings.Split(line, "<")[1:] {
			target, params, ok := strings.Cut(item, ">")
			href := absolute(base, target)
			if !ok || href == "" {
				continue
			}
			for _, rel := range rels(params) {
				switch {
				case rel == "hub" && len(hubs) < maxLinks && !slices.Contains(hubs, href):
					hubs = append(hubs, href)
				case rel == "self" && self == "":
					self = href
				}
			}
		}
	}
	return hubs, self
}

// rels returns the relation types (rel) in a link's parameters, in lower case.
func rels(params string) []string {
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ',' }) {
		if name, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.Fields(strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`)))
		}
	}
	return nil
}
