package feed

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Whatever a server sends, parsing it neither fails in another way than with an error, nor
// gives entries that cannot be told apart or encoded.
func FuzzParse(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text), "text/xml")
		f.Add([]byte(text[:len(text)/2]), "text/xml; charset=utf-16")
	}
	f.Add([]byte("<rss><channel><item><guid>a</guid><guid>b</guid><pubDate>0</pubDate></item><item/></channel></rss>"), "")
	f.Add([]byte(`{"items":[{"id":1.5,"url":{}},null,{"content_text":"x"}]}`), "application/json")
	f.Add([]byte("\xff\xfe<\x00r\x00"), "")
	a, err := newAccount("https://example.com/feed", false)
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		doc, err := parse(body, http.Header{"Content-Type": {contentType}, "Link": {contentType}}, a.url)
		if err != nil {
			return
		}
		m := &memory{Format: memoryFormat}
		p := newPosts(a, doc, m.identify(a, doc, now, false), nil)
		ids := map[string]bool{}
		for i := range p.tweets {
			tw := &p.tweets[i]
			if tw.ID == "" || ids[tw.ID] || tw.PublishedAt.IsZero() || tw.PublishedAt.After(now) {
				t.Errorf("id %q, twice %t, published at %s", tw.ID, ids[tw.ID], tw.PublishedAt)
			}
			ids[tw.ID] = true
			if !utf8.ValidString(tw.FullText) || !utf8.ValidString(tw.Text) || strings.ContainsAny(tw.Text, "\n") {
				t.Errorf("text %q", tw.Text)
			}
		}
		again := m.identify(a, doc, now.Add(time.Hour), false)
		for _, e := range again {
			if !ids[e.ID] {
				t.Errorf("the id %q is new when the document is read again", e.ID)
			}
		}
		if len(again) != len(p.tweets) {
			t.Errorf("%d entries, and %d when they are read again", len(p.tweets), len(again))
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b=%7e#c", "HTTP://EXAMPLE.com:80", "https://bücher.example.com/ü", "https://example.com/%zz", "https://example.com/%2F%41", "http://[::1]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := parseURL(raw, maxURL, true)
		if err != nil {
			return
		}
		again, err := parseURL(u.String(), 4*maxURL, true)
		if err != nil || again.String() != u.String() {
			t.Errorf("%q is %q, and that %v, error %v", raw, u, again, err)
		}
	})
}
