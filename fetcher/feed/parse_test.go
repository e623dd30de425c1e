package feed

import (
	"net/url"
	"testing"
	"time"
)

// read parses a document that came from example.com.
func read(t testing.TB, body string) *document {
	t.Helper()
	base, _ := url.Parse("https://example.com/blog/feed.xml")
	doc, err := parse([]byte(body), nil, base)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestParseRSS(t *testing.T) {
	doc := read(t, `<?xml version="1.0" encoding="utf-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>Blog</title><link>/</link>
<atom:link rel="hub" href="https://hub.example.com/"/><atom:link rel="self" href="https://example.com/feed"/><ttl>60</ttl>
<item><guid>https://example.com/1</guid><title>One</title><pubDate>Mon, 02 Mar 2026 12:00:00 JST</pubDate></item>
</channel></rss>`)
	if len(doc.entries) != 1 || len(doc.hubs) != 1 || doc.self != "https://example.com/feed" || doc.pauses.ttl != time.Hour {
		t.Fatalf("%+v", doc)
	}
	e := doc.entries[0]
	if want := time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC); !e.published.at.Equal(want) || e.link != "https://example.com/1" {
		t.Errorf("%+v, want it published at %s", e, want)
	}
}
