package feed

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// mapped are the posts of a document that came from ice.example.org.
func mapped(t *testing.T, body string) (*document, []fetcher.Tweet) {
	t.Helper()
	a, err := newAccount("https://ice.example.org/feed", false)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := parse([]byte(body), nil, a.url)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{Format: memoryFormat, Read: 1}
	return doc, newPosts(a, doc, m.identify(a, doc, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), false), nil).tweets
}

func TestRSS(t *testing.T) {
	doc, posts := mapped(t, fullRSS)
	if !slices.Equal(doc.hubs, []string{"https://hub.example.com/", "https://hub2.example.com/"}) || doc.self != "https://ice.example.org/rss" || doc.pauses.ttl != 30*time.Minute {
		t.Errorf("hubs %q, self %q, %+v", doc.hubs, doc.self, doc.pauses)
	}
	if got := doc.entries[0].guid; got != "urn:0" {
		t.Errorf("guid %q, want the last one", got)
	}
	one := posts[0]
	one.ID, one.UserID = "", ""
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	link := "https://ice.example.org/2026/ridge?a=1&utm_source=rss"
	want := fetcher.Tweet{
		Username: "https://ice.example.org/feed", UserName: "Ice & snow", Text: "A ridge of List<Ice> & more",
		FullText:  "A ridge of List<Ice> & more\n\nDay 12: a link\n\nand more",
		CreatedAt: "Mon Mar 02 12:00:00 +0000 2026", PublishedAt: at, Lang: "en-gb", Permalink: link, Source: "Ann",
		Entry: &fetcher.Entry{Title: "A ridge of List<Ice> & more", Link: link, Categories: []string{"ice", "snow"}, Enclosures: []fetcher.Enclosure{
			{URL: "https://ice.example.org/12.mp3", Type: "audio/mpeg", Length: 1234}, {URL: "https://ice.example.org/12.pdf", Type: "application/pdf"},
			{URL: "https://img.example.org/12.jpg", Type: "image/*"}, {URL: "https://img.example.org/12.mp4", Type: "video/mp4", Length: 99}}},
		Media: []fetcher.Media{{MediaKey: "https://ice.example.org/12.mp3", Type: "audio", URL: "https://ice.example.org/12.mp3"},
			{MediaKey: "https://img.example.org/12.jpg", Type: "photo", URL: "https://img.example.org/12.jpg"},
			{MediaKey: "https://img.example.org/12.mp4", Type: "video", URL: "https://img.example.org/12.mp4"}},
		URLs: []fetcher.URL{{URL: link, ExpandedURL: link, DisplayURL: strings.TrimPrefix(link, "https://")},
			{URL: "https://other.example/x", ExpandedURL: "https://other.example/x", DisplayURL: "a link"}},
	}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("\n got %+v\nwant %+v", one, want)
	}
	if odd := posts[1]; odd.Entry.Link != "" || odd.Permalink != "https://ice.example.org/" || !odd.PublishedAt.Equal(time.Unix(1772445600, 0)) {
		t.Errorf("%+v, want no link but the site's, and seconds since 1970", odd)
	}
	if two := posts[2]; two.Permalink != "https://ice.example.org/permalink" || two.Text != "No title here, only a text" || two.Entry.Title != "" {
		t.Errorf("%+v, want the guid as the link, and the description as the text", two)
	}
}

func TestAtom(t *testing.T) {
	doc, posts := mapped(t, fullAtom)
	if !slices.Equal(doc.hubs, []string{"https://hub.example.com/"}) || doc.self != "https://ice.example.org/atom" || doc.next != "https://ice.example.org/feed?page=2" {
		t.Errorf("hubs %q, self %q, next %q", doc.hubs, doc.self, doc.next)
	}
	one, two := posts[0], posts[1]
	if one.Text != "Eis & Schnee" || one.FullText != "Eis & Schnee\n\nkurz\n  und gut" || one.Source != "Ann, bob@example.org" || one.Lang != "de" || one.Permalink != "https://ice.example.org/1" ||
		!one.PublishedAt.Equal(time.Date(2026, 3, 2, 11, 0, 0, 123e6, time.UTC)) || one.Entry.Categories[0] != "Eis" || one.Media[0].Type != "photo" ||
		len(one.Media) != 2 || one.Media[1] != (fetcher.Media{MediaKey: "https://ice.example.org/1.bin", Type: "video", URL: "https://ice.example.org/1.bin"}) {
		t.Errorf("%+v", one)
	}
	if two.FullText != "nur updated, und mehr" || two.Source != "Eve" || !two.PublishedAt.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, want the title once, and updated for published", two)
	}
}

func TestJSONFeed(t *testing.T) {
	doc, posts := mapped(t, fullJSON)
	if !slices.Equal(doc.hubs, []string{"https://hub.example.com/"}) || doc.self != "https://ice.example.org/feed.json" || doc.next != "https://ice.example.org/feed.json?page=2" {
		t.Errorf("hubs %q, self %q, next %q", doc.hubs, doc.self, doc.next)
	}
	two, one := posts[0], posts[1] // the one without a date was seen now
	if one.FullText != "One\n\na < b\n  and c" || one.Lang != "fr" || doc.entries[0].guid != "42" || one.Entry.Enclosures[0].Length != 1234 || len(one.Media) != 2 {
		t.Errorf("%+v", one)
	}
	if two.Permalink != "https://other.example/" || two.FullText != "x" || !two.PublishedAt.Equal(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", two)
	}
}

// Link headers count before the document's links.
func TestLinkHeaders(t *testing.T) {
	base := feedBase()
	doc, err := parse([]byte(fullAtom), http.Header{"Link": {`<ftp://no.example.com/>; rel=hub, </no; rel=hub`, `</h1>; rel="hub self", <https://h2.example.com/>; title="a, b"; rel=hub`, `</topic>; rel=self`}}, base)
	if err != nil || !slices.Equal(doc.hubs, []string{"https://example.com/h1", "https://h2.example.com/"}) || doc.self != "https://example.com/h1" {
		t.Errorf("hubs %q, self %q, error %v", doc.hubs, doc.self, err)
	}
}

func TestDates(t *testing.T) {
	utc := func(y int, m time.Month, d, h, min int) time.Time { return time.Date(y, m, d, h, min, 0, 0, time.UTC) }
	for _, tt := range []struct {
		text string
		want time.Time
		day  bool
	}{
		{"Mon, 02 Mar 2026 12:00:00 GMT", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 EST", utc(2026, 3, 2, 17, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 PDT", utc(2026, 3, 2, 19, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 +0900", utc(2026, 3, 2, 3, 0), false},
		{"Mon, 02 Mar 2026 00:00:00 +0000", utc(2026, 3, 2, 0, 0), true},
		{"Mon, 02 Mar 2026 10:00:00 +0000", utc(2026, 3, 2, 10, 0), false},
		{"2026-03-02", utc(2026, 3, 2, 0, 0), true},
		{"2026-03-02T00:00:00+02:00", utc(2026, 3, 1, 22, 0), true},
		{"2026-03-02T12:00:00Z", utc(2026, 3, 2, 12, 0), false},
		{"1772452800", utc(2026, 3, 2, 12, 0), false},
		{"1772452800000", utc(2026, 3, 2, 12, 0), false},
		{"0001-01-01T00:00:00Z", time.Time{}, false},
		{"yesterday", time.Time{}, false},
		{"", time.Time{}, false},

		// Zones: names with their offsets, offsets with names. What has an unknown one is no time.
		{"Mon, 02 Mar 2026 12:00:00 est", utc(2026, 3, 2, 17, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 cest", utc(2026, 3, 2, 10, 0), false},
		{"mon, 02 mar 2026 12:00:00 gmt", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 Utc", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 z", utc(2026, 3, 2, 12, 0), false},
		{"2026-03-02t12:00:00z", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 02 Mar 2026 12:00 MST", utc(2026, 3, 2, 19, 0), false},
		{"2026-03-02 12:00:00 AKST", utc(2026, 3, 2, 21, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 (PST)", utc(2026, 3, 2, 20, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 GMT-5", utc(2026, 3, 2, 17, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 GMT+7", utc(2026, 3, 2, 5, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 GMT+07:00", utc(2026, 3, 2, 5, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 gmt +0530", utc(2026, 3, 2, 6, 30), false},
		{"Mon, 02 Mar 2026 12:00:00 UTC+7", utc(2026, 3, 2, 5, 0), false},
		{"2026-03-02 12:00:00 UTC-03:30", utc(2026, 3, 2, 15, 30), false},
		{"Mon, 02 Mar 2026 12:00:00 UT+1", utc(2026, 3, 2, 11, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 +0200 (CEST)", utc(2026, 3, 2, 10, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 +0200 XYZ", utc(2026, 3, 2, 10, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 EST-0500", utc(2026, 3, 2, 17, 0), false},
		{"Mon Mar 02 2026 12:00:00 GMT-0500 (Eastern Standard Time)", utc(2026, 3, 2, 17, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 +9", utc(2026, 3, 2, 3, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 -700", utc(2026, 3, 2, 19, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 \u221205:00", utc(2026, 3, 2, 17, 0), false},
		{"2026-03-02T12:00:00-07", utc(2026, 3, 2, 19, 0), false},
		{"Mon, 02 Mar 2026 12:00:00 XYZ", time.Time{}, false},
		{"Mon, 02 Mar 2026 12:00:00 JST", time.Time{}, false},
		{"2026-03-02 12:00:00 xyz", time.Time{}, false},
		{"2026-03-02T12:00:00A", time.Time{}, false},
		{"Mon, 02 Mar 2026 12:00:00 Asia/Tokyo", time.Time{}, false},
		{"Mon, 02 Mar 2026 12:00:00 +2500", time.Time{}, false},
		{"Mon, 02 Mar 2026 12:00:00 EST+5", time.Time{}, false},

		// What is missing: seconds, the time of day, the zone (UTC), the name of the day.
		{"2026/03/02 12:00:00", utc(2026, 3, 2, 12, 0), false},
		{"2026/3/2 9:05", utc(2026, 3, 2, 9, 5), false},
		{"2026/03/02", utc(2026, 3, 2, 0, 0), true},
		{"2026/03/02 12:00:00 +0900", utc(2026, 3, 2, 3, 0), false},
		{"2026-03-02T12:00", utc(2026, 3, 2, 12, 0), false},
		{"2026-03-02T12:00Z", utc(2026, 3, 2, 12, 0), false},
		{"2026-03-02T12:00+02:00", utc(2026, 3, 2, 10, 0), false},
		{"2026-03-02 12:00", utc(2026, 3, 2, 12, 0), false},
		{"2026-03-02T00:00", utc(2026, 3, 2, 0, 0), true},
		{"2026-03-02T12:00:00.250Z", utc(2026, 3, 2, 12, 0).Add(250 * time.Millisecond), false},
		{"2026-03-02T12:00:00,5+01:00", utc(2026, 3, 2, 11, 0).Add(500 * time.Millisecond), false},
		{"02 Mar 2026 12:00 +0000", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 02 Mar 26 12:00:00 GMT", utc(2026, 3, 2, 12, 0), false},
		{"Monday, 02-Mar-26 12:00:00 GMT", utc(2026, 3, 2, 12, 0), false},
		{"Mon, 2 March 2026", utc(2026, 3, 2, 0, 0), true},
		{"Mon Mar  2 12:00:00 2026", utc(2026, 3, 2, 12, 0), false},
		{"Mon Mar 02 12:00:00 -0500 2026", utc(2026, 3, 2, 17, 0), false},
		{"Mon Mar  2 12:00:00 EST 2026", utc(2026, 3, 2, 17, 0), false},
		{"Mon Mar 2 12:00:00 2026 EST", utc(2026, 3, 2, 17, 0), false},
		{"March 2, 2026 at 3:04 PM", utc(2026, 3, 2, 15, 4), false},
		{"Mar 2, 2026 12:30:00 a.m. EST", utc(2026, 3, 2, 5, 30), false},
		{"3/22/2026 3:04:05 PM", utc(2026, 3, 22, 15, 4).Add(5 * time.Second), false},
		{"22.03.2026 15:04", utc(2026, 3, 22, 15, 4), false},
		{"Mon, 30 Feb 2026 12:00:00 GMT", time.Time{}, false},
		{"2026-03-02 25:00:00", time.Time{}, false},
		{"12:00", time.Time{}, false},

		// Numbers of which each can be the month, unless AM or PM or dots tell their order.
		{"11/05/2026 10:10", time.Time{}, false},
		{"11/05/2026", time.Time{}, false},
		{"Thu. 11/05/2026", time.Time{}, false},
		{"11-05-2026 10:10:00", time.Time{}, false},
		{"11/05/2026 10:10 AM", utc(2026, 11, 5, 10, 10), false},
		{"11.05.2026 10:10", utc(2026, 5, 11, 10, 10), false},
		{"05/05/2026 10:10", utc(2026, 5, 5, 10, 10), false},
		{"05/13/2026 10:10", utc(2026, 5, 13, 10, 10), false},
		{"13-05-2026", utc(2026, 5, 13, 0, 0), true},

		// Forms of other programs and languages.
		{"28 Sept 2026 10:00 +0000", utc(2026, 9, 28, 10, 0), false},
		{"Sa, 28 Nov 2026 10:00:00 +0100", utc(2026, 11, 28, 9, 0), false},
		{"sam., 28 novembre 2026 10:00:00 +0100", utc(2026, 11, 28, 9, 0), false},
		{"1 Févr. 2026", utc(2026, 2, 1, 0, 0), true},
		{"Nov, 28 2026 10:00", utc(2026, 11, 28, 10, 0), false},
		{"November 28th, 2026 10:00", utc(2026, 11, 28, 10, 0), false},
		{"20261128T100000Z", utc(2026, 11, 28, 10, 0), false},
		{"20261128T100000-0500", utc(2026, 11, 28, 15, 0), false},
		{"Sat, 28 Nov 2026 10:00:00 (GMT+7)", utc(2026, 11, 28, 3, 0), false},
		{"2026-11-28T10:00:00-05:00[America/New_York]", utc(2026, 11, 28, 15, 0), false},
		{"2026-11-28T10:00:00[America/New_York]", time.Time{}, false},
		{"1795860000.5", time.UnixMilli(1795860000500), false},

		// Bounds.
		{"2026-03-02T24:00:00Z", utc(2026, 3, 3, 0, 0), false},
		{"2026-03-02T12:60:00Z", time.Time{}, false},
		{"2026-03-02T12:00:60Z", utc(2026, 3, 2, 12, 1), false},
		{"2026-03-02T12:00:61Z", time.Time{}, false},
		{"2026-03-02T12:00:00+14:59", utc(2026, 3, 1, 21, 1), false},
		{"2026-03-02T12:00:00+02:60", time.Time{}, false},
		{"3/22/2026 12:30 PM", utc(2026, 3, 22, 12, 30), false},
		{"3/22/2026 13:30 PM", utc(2026, 3, 22, 13, 30), false},
		{"1970-12-31T12:00:00Z", time.Time{}, false},
		{"1971-01-01T12:00:00Z", utc(1971, 1, 1, 12, 0), false},
		{"99999999", time.Time{}, false},
		{"100000000", time.Unix(1e8, 0), false},
		{"100000000000", time.Unix(1e8, 0), false},
		{"100000000000000", time.Time{}, false},
	} {
		doc := read(t, "<rss><channel><item><title>x</title><pubDate>"+tt.text+"</pubDate></item></channel></rss>")
		if got := doc.entries[0].published; !got.at.Equal(tt.want) || got.day != tt.day {
			t.Errorf("%q is %s, day %t, want %s, %t", tt.text, got.at, got.day, tt.want, tt.day)
		}
	}
}

// What has another type in a JSON Feed is left out, and nothing else with it.
func TestJSONFeedOfOtherTypes(t *testing.T) {
	doc := read(t, `{"version":1,"title":["x"],"hubs":{},"items":[null,7,
		{"id":42,"title":5,"content_text":"a","date_published":"2026-03-02T12:00:00+0000","tags":"x","authors":[{"name":"Ann"},3]},
		{"id":{},"url":"https://example.com/b","date_published":"2026-03-02 12:00:00","author":{"name":"Bob"},"attachments":[{"url":"/b.mp3","size_in_bytes":"9"}]},
		{"id":"https://example.com/c","external_url":7,"date_published":"Mon, 02 Mar 2026 12:00:00 +0000","date_modified":false},
		{"id":"d","date_published":1772452800},{"id":"e","date_published":{},"date_modified":1772452800.0}]}`)
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var got []string
	for _, e := range doc.entries {
		author := ""
		if len(e.authors) > 0 {
			author = e.authors[0].name
		}
		got = append(got, fmt.Sprint(e.guid, " ", e.link, " ", e.content, " ", author, " ", len(e.enclosures), " ", e.published.at.Equal(noon)))
	}
	want := []string{"42  a Ann 0 true", " https://example.com/b  Bob 1 true", "https://example.com/c https://example.com/c   0 true", "d    0 true", "e    0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("entries %q, want %q", got, want)
	}
}

// read parses a document that came from example.com.
func read(t testing.TB, body string) *document {
	t.Helper()
	doc, err := parse([]byte(body), nil, feedBase())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// Of a feed that shows its whole past the newest entries count, wherever they stand.
func TestLongFeed(t *testing.T) {
	var b strings.Builder
	at := time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)
	for n := range maxEntries + 500 {
		fmt.Fprintf(&b, "<item><guid>%d</guid><pubDate>%s</pubDate></item>", n, at.AddDate(0, 0, n).Format(time.RFC1123Z))
	}
	doc := read(t, "<rss><channel>"+b.String()+"</channel></rss>")
	if n := len(doc.entries); n != maxEntries || doc.entries[0].guid != "1499" || doc.entries[n-1].guid != "500" {
		t.Errorf("%d entries, from %v to %v", n, doc.entries[0].guid, doc.entries[n-1].guid)
	}
}

func TestTitles(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "  two\n lines ": "two lines", "1 < 2 & 3": "1 < 2 & 3", "<b>bold</b> &amp; more": "bold & more", "List<String>": "List<String>",
		"a<br/>b": "a b", `<div class="x">Big news</div>`: "Big news", "<P>one</P><p>two</p>": "one two", "<h1>A</h1><ul><li>b</li><li>c</li></ul>": "A b c",
		"<table><tr><td>a</td><td>b</td></tr></table>": "a b", "&lt;div&gt;": "<div>", "&amp;lt;": "&lt;", "Why <script> is slow": "Why <script> is slow",
		"a<script>no</script> b": "a b", "a <noscript>no</noscript>b": "a b", "m = <math><mi>E</mi></math> &lt; n": "m = E < n", "Why <math> is hard": "Why <math> is hard", "</script> ends": "</script> ends", "<img src=x alt=y>z": "z", "a<!--b": "a<!--b", "<a href=\"x>y\">z</a>": "z", "&lt;b&gt;": "<b>", "<": "<", strings.Repeat("<a", 500_000): strings.Repeat("<a", maxTitle/2), strings.Repeat("é", 1000): strings.Repeat("é", 512),
	} {
		if got := titleText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	long := firstOf(strings.Repeat("word \n", 100), 12)
	if long != "word word…" {
		t.Errorf("%q", long)
	}
}
