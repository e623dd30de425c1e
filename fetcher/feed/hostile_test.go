package feed

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A small document that the parser would make a large one of is
// not parsed.
func TestDocumentOfElements(t *testing.T) {
	many := maxItems + 1
	rss := func(s string) string {
		return `<rss version="2.0"><channel><title>t</title>` + s + `</channel></rss>`
	}
	json := func(s string) string {
		return `{"version":"https://jsonfeed.org/version/1.1","items":[` + s + `]}`
	}
	for name, text := range map[string]string{
		"items of RSS":              rss(strings.Repeat("<item/>", many)),
		"elements outside of items": rss(strings.Repeat("<a/>", maxMarks+1)),
		"elements of an item":       rss("<item>" + strings.Repeat("<a/>", maxMarks+1) + "</item>"),
		"a < that begins nothing":   rss("<item>" + strings.Repeat("<", maxMarks+1) + "</item>"),
		"]]> outside of CDATA":      rss("<item>" + strings.Repeat("]]>", 4_000_000) + "</item>"),
		"attributes":                rss("<item " + strings.Repeat(`a="" `, maxMarks+1) + "/>"),
		"items of JSON Feed":        json("{}" + strings.Repeat(",{}", many)),
		"items of JSON Feed, cut":   json("{}" + strings.Repeat(",{}", many+100))[:3*(many+100)],
		"objects of an item":        json(`{"attachments":[{}` + strings.Repeat(",{}", maxMarks) + `]}`),
	} {
		if doc, err := parse([]byte(text), nil, feedBase()); !errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v, %v, want an ErrMalformed that tells the bound", name, doc != nil, err)
		}
	}
	for name, text := range map[string]string{
		"braces in a text": json(`{"id":"1","content_text":"` + strings.Repeat("{", maxMarks+1) + `"}`),
		"a text of markup": rss("<item><guid>1</guid><description><![CDATA[" + strings.Repeat("<a>", maxMarks+1) + "]]></description></item>"),
	} {
		if doc, err := parse([]byte(text), nil, feedBase()); err != nil || len(doc.entries) != 1 {
			t.Errorf("%s: %v, want its entry", name, err)
		}
	}
}

// What goes into a post of an entry is bounded.
func TestBoundsOfAnEntry(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	var b strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&b, "<category>%d%s</category>", n, long[:2000])
	}
	e := read(t, `<rss version="2.0"><channel><title>t</title><item><guid>1</guid><link>https://example.com/`+long+`</link>`+b.String()+`</item></channel></rss>`).entries[0]
	if len(e.categories) != maxCategories || len(e.categories[0]) != maxTitle || e.link != "" {
		t.Errorf("%d categories, the first of %d bytes, and a link of %d bytes; want %d, %d and none", len(e.categories), len(e.categories[0]), len(e.link), maxCategories, maxTitle)
	}
}
