package feed

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// feedTypes are the media types that a web page gives for links to a feed.
var feedTypes = map[string]bool{
	"application/rss+xml": true, "application/atom+xml": true, "application/feed+json": true, "application/rdf+xml": true,
}

// notFeed returns the error for a document that is not a feed. For a web page, the error names
// the feed to which the page links, because users often give the page's address instead of the
// feed's.
func notFeed(text, root string, base *url.URL) error {
	if root != "html" && !strings.Contains(strings.ToLower(clip(text, 512)), "<!doctype html") {
		return malformed("no feed: want RSS, Atom or JSON Feed")
	}
	if href := linked(text, base); href != "" {
		return malformed("a web page, no feed: it links to the feed %s", upstream.PlainURL(href))
	}
	return malformed("a web page, no feed: want RSS, Atom or JSON Feed")
}

// linked returns the address of the first feed to which a page links, or "" if there is none.
func linked(text string, base *url.URL) string {
	const head = 256 << 10 // links are at the beginning
	z := html.NewTokenizer(strings.NewReader(clip(text, head)))
	for t := z.Next(); t != html.ErrorToken; t = z.Next() {
		name, more := z.TagName()
		if t != html.StartTagToken && t != html.SelfClosingTagToken || string(name) != "link" {
			continue
		}
		values := map[string]string{}
		for more {
			var key, value []byte
			key, value, more = z.TagAttr()
			values[string(key)] = strings.TrimSpace(string(value))
		}
		if strings.EqualFold(values["rel"], "alternate") && feedTypes[strings.ToLower(values["type"])] {
			if href := absolute(base, values["href"]); href != "" && len(href) <= maxURL {
				return href
			}
		}
	}
	return ""
}
