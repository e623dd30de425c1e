package feed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// What the members of an item become in its post.
func TestMembers(t *testing.T) {
	files := func(p fetcher.Tweet) string {
		var b strings.Builder
		for _, e := range p.Entry.Enclosures {
			fmt.Fprintf(&b, "%s %q %d; ", e.URL, e.Type, e.Length)
		}
		for _, m := range p.Media {
			fmt.Fprintf(&b, "%s %s; ", m.Type, m.URL)
		}
		return b.String()
	}
	link := func(p fetcher.Tweet) string { return p.Entry.Link }
	permalink := func(p fetcher.Tweet) string { return p.Permalink }
	for _, row := range []struct {
		name, item string
		get        func(fetcher.Tweet) string
		want       string
	}{
		{"a file of no type is what its name says", `<enclosure url="/a.OGG?x=1"/>`, files, `https://ice.example.org/a.OGG?x=1 "" 0; audio https://ice.example.org/a.OGG?x=1; `},
		{"a type counts before the name", `<enclosure url="/a.jpg" type="application/pdf"/>`, files, `https://ice.example.org/a.jpg "application/pdf" 0; `},
		{"a picture that moves", `<enclosure url="/a" type="image/GIF" length="7"/>`, files, `https://ice.example.org/a "image/gif" 7; animated_gif https://ice.example.org/a; `},
		{"a length below zero", `<enclosure url="/a" type="x/y" length="-7"/>`, files, `https://ice.example.org/a "x/y" 0; `},
		{"one address twice", `<enclosure url="/a" type="x/y"/><media:content url="/a"/>`, files, `https://ice.example.org/a "x/y" 0; `},
		{"a medium of no type", `<media:content url="/a" medium="audio"/>`, files, `https://ice.example.org/a "audio/*" 0; audio https://ice.example.org/a; `},
		{"a medium that is none", `<media:content url="/a" medium="document"/>`, files, `https://ice.example.org/a "" 0; `},
		{"the item's picture", `<itunes:image href="/p"/>`, files, `photo https://ice.example.org/p; `},
		{"the item's picture is its file", `<itunes:image href="/p.png"/><enclosure url="/p.png"/>`, files, `https://ice.example.org/p.png "" 0; photo https://ice.example.org/p.png; `},
		{"an address with blanks", `<link> https://e.example.org/a b </link>`, link, "https://e.example.org/a%20b"},
		{"a query with what must be escaped", `<link>https://e.example.org/a b?q=c d&amp;e="f"&amp;g='&lt;é&gt;'&amp;h=%20+i</link>`, link, "https://e.example.org/a%20b?q=c%20d&e=%22f%22&g=%27%3C%C3%A9%3E%27&h=%20+i"},
		{"a % that begins no escape", `<link>https://e.example.org/100%/x%20%4?y=50%&amp;z=%C3</link>`, link, "https://e.example.org/100%25/x%20%254?y=50%25&z=%C3"},
		{"an address of another scheme", `<link>ftp://e.example.org/a</link>`, link, ""},
		{"a guid that is no link", `<guid isPermaLink=" False ">https://e.example.org/g</guid>`, link, ""},
		{"the link before the guid", `<link>https://e.example.org/l</link><guid>https://e.example.org/g</guid>`, link, "https://e.example.org/l"},
		{"an Atom link of a page", `<atom:link rel="related" href="/r"/><atom:link href="/a"/>`, link, "https://ice.example.org/a"},
		{"an Atom link by its address, and by its type", `<atom:link rel="alternate" type="application/json" href="/j"/><atom:link rel="HTTP://www.iana.org/assignments/relation/Alternate" type="text/html" href="/a"/>`, link, "https://ice.example.org/a"},
		{"an Atom link after the item's", `<link>https://e.example.org/l</link><atom:link href="/a"/>`, link, "https://e.example.org/l"},
		{"the page of an item", `<link>https://e.example.org/l</link><enclosure url="/a"/>`, permalink, "https://e.example.org/l"},
		{"the page of an item without one is its file", `<enclosure url="/a"/>`, permalink, "https://ice.example.org/a"},
		{"the page of an item without both is the feed", "", permalink, "https://ice.example.org/feed"},
		{"categories that repeat", `<category> ice </category><category>ice</category><category> </category><category>snow</category>`,
			func(p fetcher.Tweet) string { return strings.Join(p.Entry.Categories, ",") }, "ice,snow"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, posts := mapped(t, `<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:atom="http://www.w3.org/2005/Atom">`+
				`<channel><title>t</title><item><title>one</title>`+row.item+`</item></channel></rss>`)
			if got := row.get(posts[0]); got != row.want {
				t.Errorf("%s: %q, want %q", row.item, got, row.want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  Config
		want string // in the error, "" for none
	}{
		{"the largest", Config{HostGap: time.Hour, MaxBody: 64 << 20, MaxPause: 24 * time.Hour, Contact: "https://example.com/a?b=c", UserAgent: "a b/1 (+c)"}, ""},
		{"no pause", Config{MaxPause: -1}, ""},
		{"a gap below zero", Config{HostGap: -1}, "HostGap -1ns"},
		{"a gap too long", Config{HostGap: time.Hour + 1}, "HostGap 1h0m0.000000001s"},
		{"a body below zero", Config{MaxBody: -1}, "MaxBody -1"},
		{"a body too large", Config{MaxBody: 64<<20 + 1}, "MaxBody 67108865"},
		{"a pause too long", Config{MaxPause: 24*time.Hour + 1}, "MaxPause 24h0m0.000000001s"},
		{"a contact with brackets", Config{Contact: "a)"}, `Contact "a)"`},
		{"a contact of two lines", Config{Contact: "a\nb"}, `Contact "a\nb"`},
		{"a program's name of two lines", Config{UserAgent: "a\nb"}, `UserAgent "a\nb"`},
	} {
		f, err := New(row.cfg)
		if (err == nil) != (row.want == "") || (f == nil) != (err != nil) || err != nil && !strings.Contains(err.Error(), row.want+" is not allowed") {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}

// Spellings of one address are one account.
func TestSpellings(t *testing.T) {
	for name, want := range map[string]string{
		"HTTPS://Example.COM:443/a":         "https://example.com/a",
		"https://example.com/%7ea%2f%c3":    "https://example.com/~a%2F%C3",
		"https://some_name.example.com./-":  "https://some_name.example.com/-",
		"https://-qa--a-.example.com:8443/": "https://-qa--a-.example.com:8443/",
		"https://example.com/ü":             "https://example.com/%C3%BC",
		"https://example.com/a?b=%41%zz":    "https://example.com/a?b=A%25zz",
	} {
		if a, err := newAccount(name, false); err != nil || a.url.String() != want {
			t.Errorf("%s: %v, %v; want %s", name, a, err, want)
		}
	}
}
