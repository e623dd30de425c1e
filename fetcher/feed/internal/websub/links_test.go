package websub

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestDiscover(t *testing.T) {
	embedded := Links{Hubs: []string{"https://embedded.example/hub"}, Self: "https://blog.example/self"}
	for _, c := range []struct {
		name    string
		address string
		header  []string
		doc     Links
		hubs    []string
		self    string
	}{
		{"header", "", []string{`<https://h.example/>; rel="hub"`, `<https://blog.example/topic>; rel="self"`}, embedded, []string{"https://h.example/"}, "https://blog.example/topic"},
		{"header, in one field", "", []string{`<https://h.example/>; rel=hub, </topic>;rel=self`}, embedded, []string{"https://h.example/"}, "https://blog.example/topic"},
		{"several relations, several hubs", "", []string{`<https://h.example/>; rel="x HUB"; title="a, \"b\"; c", <https://i.example/>;rel=hub`}, embedded, []string{"https://h.example/", "https://i.example/"}, "https://blog.example/self"},
		{"header without a hub", "", []string{`</topic>; rel=self`}, embedded, embedded.Hubs, "https://blog.example/topic"},
		{"embedded", "", nil, embedded, embedded.Hubs, embedded.Self},
		{"neither says self", "", nil, Links{Hubs: embedded.Hubs}, embedded.Hubs, "https://blog.example/feed"},
		{"no hub", "", nil, Links{Self: "https://blog.example/self"}, nil, "https://blog.example/self"},
		{"PuSHPress, on the site itself", "", []string{`</?pushpress=hub>; rel="hub"`}, Links{}, []string{"https://blog.example/?pushpress=hub"}, "https://blog.example/feed"},
		{"Google, by http", "", nil, Links{Hubs: []string{"http://pubsubhubbub.appspot.com/"}}, []string{"https://pubsubhubbub.appspot.com/"}, "https://blog.example/feed"},
		{"Superfeedr, by http", "", nil, Links{Hubs: []string{"http://medium.superfeedr.com"}}, []string{"https://medium.superfeedr.com"}, "https://blog.example/feed"},
		{"YouTube", "https://www.youtube.com/feeds/videos.xml?channel_id=UC_x5", nil, Links{Self: "http://www.youtube.com/feeds/videos.xml?channel_id=UC_x5"},
			[]string{"https://pubsubhubbub.appspot.com/subscribe"}, "https://www.youtube.com/xml/feeds/videos.xml?channel_id=UC_x5"},
		{"YouTube, a playlist", "https://www.youtube.com/feeds/videos.xml?playlist_id=PL1", nil, Links{}, nil, "https://www.youtube.com/feeds/videos.xml?playlist_id=PL1"},
		{"no YouTube", "https://notyoutube.com/feeds/videos.xml?channel_id=1", nil, Links{}, nil, "https://notyoutube.com/feeds/videos.xml?channel_id=1"},
		{"an anchor is about something else", "", []string{`<https://h.example/>; rel=hub; anchor="/other"`}, Links{}, nil, "https://blog.example/feed"},
		{"the first rel counts", "", []string{`<https://h.example/>; rel=next; rel=hub`}, Links{}, nil, "https://blog.example/feed"},
		{"other schemes", "", []string{`<ftp://h.example/>; rel=hub, <mailto:a@b>; rel=hub, <https://u:p@h.example/>; rel=hub`}, Links{}, nil, "https://blog.example/feed"},
		{"fragments are dropped", "", []string{`<https://h.example/#x>; rel=hub, <#top>; rel=self`}, Links{}, []string{"https://h.example/"}, "https://blog.example/feed"},
		{"nonsense", "", []string{`rel=hub`, `<https://h.example/; rel=hub`, `<https://h.example/>; rel="hub`, `<https://h.example/> rel=hub`}, Links{}, nil, "https://blog.example/feed"},
		{"too much", "", []string{"<https://h.example/" + strings.Repeat("x", maxLink) + ">; rel=hub"}, Links{}, nil, "https://blog.example/feed"},
		{"without end", "", []string{strings.Repeat("<https://h.example/>; rel=hub,", 10000), `<https://i.example/>; rel=hub`}, Links{}, nil, "https://blog.example/feed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.address == "" {
				c.address = "https://blog.example/feed"
			}
			address, err := url.Parse(c.address)
			if err != nil {
				t.Fatal(err)
			}
			got := Discover(http.Header{"Link": c.header}, c.doc, address)
			if !slices.Equal(got.Hubs, c.hubs) || got.Self != c.self {
				t.Errorf("hubs %q, topic %q: want %q, %q", got.Hubs, got.Self, c.hubs, c.self)
			}
		})
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(`<https://h.example/>; rel="hub", </x>; rel=self; title="a\"b,;"`)
	f.Add(`<a>;;;=,<b>; rel`)
	f.Add(`<`)
	base, err := url.Parse("https://blog.example/feed")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, field string) {
		got := Discover(http.Header{"Link": {field}}, Links{}, base)
		if got.Self == "" || len(got.Hubs) > maxHubs {
			t.Errorf("%q gives %+v", field, got)
		}
		for _, link := range append(got.Hubs, got.Self) {
			if u, err := url.Parse(link); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
				t.Errorf("%q gives the link %q", field, link)
			}
		}
	})
}
