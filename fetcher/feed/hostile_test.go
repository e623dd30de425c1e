package feed

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A title of tags without an end is read once, not once for each tag.
func TestTitleOfTags(t *testing.T) {
	const tags = 500_000
	read := make(chan string, 1)
	go func() { read <- titleText(strings.Repeat("<a", tags)) }()
	select {
	case got := <-read:
		if got != "<a" { // the last one is none
			t.Errorf("title = %.20q, want <a", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("a title of %d tags takes more than 20 s", tags)
	}
}

// A small document that the parser would make a large one of is
// not parsed.
func TestDocumentOfElements(t *testing.T) {
	base, err := url.Parse("https://example.com/feed")
	if err != nil {
		t.Fatal(err)
	}
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
		"attributes":                rss("<item " + strings.Repeat(`a="" `, maxMarks+1) + "/>"),
		"items of JSON Feed":        json("{}" + strings.Repeat(",{}", many)),
		"items of JSON Feed, cut":   json("{}" + strings.Repeat(",{}", many+100))[:3*(many+100)],
		"objects of an item":        json(`{"attachments":[{}` + strings.Repeat(",{}", maxMarks) + `]}`),
	} {
		if doc, err := parse([]byte(text), nil, base); !errors.Is(err, fetcher.ErrMalformed) || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v, %v, want an ErrMalformed that tells the bound", name, doc != nil, err)
		}
	}
	for name, text := range map[string]string{
		"braces in a text": json(`{"id":"1","content_text":"` + strings.Repeat("{", maxMarks+1) + `"}`),
		"a text of markup": rss("<item><guid>1</guid><description><![CDATA[" + strings.Repeat("<a>", maxMarks+1) + "]]></description></item>"),
	} {
		if doc, err := parse([]byte(text), nil, base); err != nil || len(doc.entries) != 1 {
			t.Errorf("%s: %v, want its entry", name, err)
		}
	}
}
