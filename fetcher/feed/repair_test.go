package feed

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/streamwatch/streamwatch/fetcher"
)

// samples are feeds of three items each, whose titles are "one é", "two é" and "three é".
var samples = map[string]string{
	"RSS 2.0": `<?xml version="1.0" encoding="utf-8"?>
<!-- made by hand --><rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>é</title><link>https://example.com/</link>
<image><url>/i.png</url><title>t</title></image>
<item><title>one é</title><guid>g1</guid><description><![CDATA[<p>an <b>item</b> with </item> in it</p>]]></description></item>
<item><title>two é</title><guid isPermaLink="false">g2</guid><enclosure url="/2.mp3" type="audio/mpeg" length="2"/><dc:date>2026-03-02T12:00:00Z</dc:date></item>
<item><title>three é</title><guid>g3</guid></item>
</channel></rss>`,
	"RSS 1.0": `<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="https://example.com/"><title>é</title><link>https://example.com/</link><items><rdf:Seq><rdf:li rdf:resource="g1"/></rdf:Seq></items></channel>
<item rdf:about="g1"><title>one é</title><link>https://example.com/1</link></item>
<item rdf:about="g2"><title>two é</title></item>
<item rdf:about="g3"><title>three é</title></item></rdf:RDF>`,
	"Atom": `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>é</title><id>f</id><link rel="self" href="/atom"/>
<entry><id>g1</id><title>one é</title><source><id>other</id></source><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x<br/></p></div></content></entry>
<entry><title type="html">two é</title><id>g2</id><link href="/2"/></entry>
<entry><id>g3</id><title>three é</title></entry></feed>`,
	"JSON Feed": `{"version": "https://jsonfeed.org/version/1.1", "title": "é", "hubs": [{"type": "WebSub", "url": "/hub"}],
"items": [{"id": "g1", "title": "one é", "content_html": "a \"]}\" b", "tags": ["[", "{"]},
{"id": "g2", "title": "two é", "attachments": [{"url": "/2.mp3", "mime_type": "audio/mpeg"}]},
{"id": "g3", "title": "three é"}]}`,
}

var wantTitles = []string{"one é", "two é", "three é"}

func feedBase() *url.URL { return &url.URL{Scheme: "https", Host: "example.com", Path: "/feed"} }

func titles(doc *document) (list []string) {
	for _, e := range doc.entries {
		list = append(list, e.title)
	}
	return list
}

// ends are where the items of a sample end, in bytes.
func ends(name, text string) (list []int) {
	for _, mark := range wantTitles {
		at := strings.Index(text, mark)
		end := "</item>"
		switch name {
		case "Atom":
			end = "</entry>"
		case "JSON Feed":
			list = append(list, at+strings.Index(text[at:], "}")+1)
			switch mark {
			case "one é":
				list[0] = strings.Index(text, `"{"]}`) + 5
			case "two é":
				list[1] = strings.Index(text, `mpeg"}]}`) + 8
			}
			continue
		}
		if mark == "one é" && name == "RSS 2.0" {
			at = strings.Index(text, "]]>")
		}
		list = append(list, at+strings.Index(text[at:], end)+len(end))
	}
	return list
}

func TestSamples(t *testing.T) {
	for name, text := range samples {
		doc, err := parse([]byte(text), nil, feedBase())
		if err != nil || !slices.Equal(titles(doc), wantTitles) || doc.cut {
			t.Errorf("%s: %+v, error %v, want %q", name, doc, err, wantTitles)
			continue
		}
		for i, e := range doc.entries {
			if want := fmt.Sprintf("g%d", i+1); e.guid != want {
				t.Errorf("%s: guid %q, want %s", name, e.guid, want)
			}
		}
	}
}

// A feed that is cut off anywhere gives the items that are whole before the cut, and is
// never taken for one without items.
func TestCutAnywhere(t *testing.T) {
	for name, text := range samples {
		whole := ends(name, text)
		for cut := range len(text) - 1 {
			want := 0
			for want < 3 && whole[want] <= cut {
				want++
			}
			doc, err := parse([]byte(text[:cut]), nil, feedBase())
			switch {
			case want == 0:
				if !errors.Is(err, fetcher.ErrMalformed) {
					t.Fatalf("%s, %d of %d bytes: %+v, error %v, want ErrMalformed", name, cut, len(text), doc, err)
				}
			case err != nil || !slices.Equal(titles(doc), wantTitles[:want]):
				t.Fatalf("%s, %d of %d bytes: error %v, want %d items: %q", name, cut, len(text), err, want, text[:cut])
			case !doc.cut && strings.TrimSpace(text[cut:]) != "":
				t.Fatalf("%s, %d of %d bytes: not known to be cut", name, cut, len(text))
			}
		}
	}
}

// One byte that is wrong costs at most the item that it is in, or, where it is in none,
// nothing or the feed.
func TestOneBadByte(t *testing.T) {
	for name, text := range samples {
		whole := ends(name, text)
		first := strings.Index(text, map[string]string{"RSS 2.0": "<item", "RSS 1.0": "<item rdf", "Atom": "<entry", "JSON Feed": `{"id"`}[name])
		for at := first; at < whole[2]; at++ {
			hit := 0
			for whole[hit] <= at {
				hit++
			}
			body := []byte(text)
			body[at] = 0xFF
			doc, err := parse(body, nil, feedBase())
			if err != nil && swallowed(text, at) {
				continue
			}
			if err != nil {
				t.Fatalf("%s, byte %d of %q: %v", name, at, text[max(0, at-10):at+10], err)
			}
			for i, want := range wantTitles {
				if i != hit && !slices.Contains(titles(doc), want) && !swallowed(text, at) {
					t.Fatalf("%s, byte %d (%q): %q, want all but item %d", name, at, text[max(0, at-10):at+10], titles(doc), hit)
				}
			}
		}
	}
}

// swallowed reports whether a byte belongs to what ends an item or a string: without it
// the item goes on.
func swallowed(text string, at int) bool {
	from, to := max(0, at-8), min(len(text), at+9)
	around := text[from:to]
	return strings.Contains(around, "/item") || strings.Contains(around, "/entry") || strings.ContainsAny(text[at:at+1], `"{}[],:\<>/`) ||
		strings.Contains(around, "<item") || strings.Contains(around, "<entry") || strings.Contains(around, "CDATA") || strings.Contains(around, "]]>")
}

// Markup that XML forbids costs nothing where it is clear what it means. Other items that cannot
// be read are counted.
func TestForbiddenMarkup(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []string // titles
		lost       int
	}{
		{"a < before a space", "<item><title>a < b</title></item><item><title>c</title></item>", []string{"a < b", "c"}, 0},
		{"a < before a digit", "<item><title>a <3 b</3 c</title></item>", []string{"a <3 b</3 c"}, 0},
		{"a < in an attribute", `<item><title>a</title><x y="1 < 2"/></item>`, []string{"a"}, 0},
		{"]]> in a text", "<item><title>a ]]> b]]></title></item><item><title>c</title></item>", []string{"a ]]> b]]>", "c"}, 0},
		{"]]> where it is allowed", `<item><!-- ]]> < --><title>a</title><x y="]]>"/></item>`, []string{"a"}, 0},
		{"CDATA in CDATA", "<item><title><![CDATA[a <![CDATA[x]]> b]]></title></item><item><title>c</title></item>", []string{"a <![CDATA[x b]]>", "c"}, 0},
		{"an item in an item", "<item><title>a</title><item><title>b</title></item>", []string{"a", "b"}, 0},
		{"the last item without an end", "<item><title>a</title></item><item><title>b", []string{"a", "b"}, 0},
		{"an item in an item's element", "<item><title>a</title><x><item><title>no</title></item></x></item><item><title>b</title></item>", []string{"a", "b"}, 0},
		{"a < before a name", "<item><title>a</title></item><item><title>a<b c</title></item>", []string{"a"}, 1},
	} {
		for end, body := range map[string]string{
			"</channel></rss>": "<rss><channel>" + tt.body, "</feed>": "<feed>" + strings.ReplaceAll(strings.ReplaceAll(tt.body, "<item>", "<entry>"), "</item>", "</entry>"),
		} {
			doc, err := parse([]byte(body+end), nil, feedBase())
			if err != nil || !slices.Equal(titles(doc), tt.want) || doc.lost != tt.lost || doc.cut != (tt.lost > 0) {
				t.Errorf("%s, %s: %+v, error %v, want %q and %d lost", tt.name, end, doc, err, tt.want, tt.lost)
			}
		}
	}
}

// An object with numbers as keys is a list, whole or cut off.
func TestItemsByNumber(t *testing.T) {
	text := strings.Replace(samples["JSON Feed"], `"items": [`, `"items": {"2":`, 1)
	text = strings.NewReplacer(`{"id": "g2"`, `"4":{"id": "g2"`, `{"id": "g3"`, `"1":{"id": "g3"`).Replace(text)
	text = strings.TrimSuffix(text, "]}") + "}}"
	for cut, want := range map[string][]string{text: wantTitles, text[:len(text)-2]: wantTitles, text[:len(text)-5]: wantTitles[:2]} {
		if doc, err := parse([]byte(cut), nil, feedBase()); err != nil || !slices.Equal(titles(doc), want) || doc.cut != (cut != text) {
			t.Errorf("%s: %+v, error %v, want %q", cut, doc, err, want)
		}
	}
}

// A byte that is wrong in a text costs nothing.
func TestBadByteInText(t *testing.T) {
	for name, text := range samples {
		for _, title := range wantTitles {
			body := strings.Replace(text, title, title[:2]+"\xff"+title[2:], 1)
			doc, err := parse([]byte(body), nil, feedBase())
			if err != nil || len(doc.entries) != 3 || doc.cut {
				t.Errorf("%s: %+v, error %v, want three items", name, doc, err)
			}
		}
	}
}

func TestEncodings(t *testing.T) {
	utf16 := func(endian unicode.Endianness, bom unicode.BOMPolicy) func(string) string {
		return func(s string) string {
			out, err := unicode.UTF16(endian, bom).NewEncoder().String(s)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	latin := func(s string) string {
		out, err := charmap.Windows1252.NewEncoder().String(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	declare := func(name string) func(string) string {
		return func(s string) string {
			_, rest, ok := strings.Cut(s, "?>")
			if !ok {
				return s // JSON
			}
			return `<?xml version="1.0" encoding="` + name + `"?>` + rest
		}
	}
	for _, tt := range []struct {
		name        string
		encode      func(string) string
		contentType string
	}{
		{"UTF-8", func(s string) string { return s }, ""},
		{"UTF-8 with a mark", func(s string) string { return "\ufeff" + s }, ""},
		{"UTF-8 that the server calls Latin-1", func(s string) string { return s }, "text/xml; charset=iso-8859-1"},
		{"UTF-8 that declares Latin-1", declare("iso-8859-1"), "text/xml"},
		{"UTF-8 that declares UTF-16", declare("utf-16"), "text/xml"},
		{"UTF-8 that declares nonsense", declare("x-none"), "text/xml; charset=none"},
		{"UTF-16LE with a mark", utf16(unicode.LittleEndian, unicode.UseBOM), ""},
		{"UTF-16BE with a mark", utf16(unicode.BigEndian, unicode.UseBOM), "text/xml; charset=utf-8"},
		{"UTF-16LE", utf16(unicode.LittleEndian, unicode.IgnoreBOM), "text/xml; charset=utf-16"},
		{"UTF-16BE", utf16(unicode.BigEndian, unicode.IgnoreBOM), ""},
		{"windows-1252 by the server", latin, "text/xml; charset=windows-1252"},
		{"windows-1252 by the declaration", func(s string) string { return latin(declare("windows-1252")(s)) }, "text/xml; charset=utf-8"},
		{"windows-1252 that nobody names", func(s string) string { return latin(declare("utf-8")(s)) }, ""},
		{"UTF-8 after a zero", func(s string) string { return "\x00" + s }, "text/xml"},
		{"UTF-8 with a zero", func(s string) string { return s[:1] + "\x00" + s[1:] }, ""},
		{"long white space before", func(s string) string { return strings.Repeat("\n ", 5000) + s }, ""},
	} {
		for name, text := range samples {
			doc, err := parse([]byte(tt.encode(text)), http.Header{"Content-Type": {tt.contentType}}, feedBase())
			if err != nil || !slices.Equal(titles(doc), wantTitles) {
				t.Errorf("%s in %s: %+v, error %v, want %q", name, tt.name, doc, err, wantTitles)
			}
		}
	}
	jis, err := japanese.ISO2022JP.NewEncoder().String(`<?xml version="1.0" encoding="iso-2022-jp"?><rss><channel><item><title>日本</title></item></channel></rss>`)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := parse([]byte(jis), nil, feedBase()); err != nil || titles(doc)[0] != "日本" {
		t.Errorf("ISO-2022-JP: %+v, error %v", doc, err)
	}
	header := http.Header{"Content-Type": {"text/xml; charset=ISO-2022-JP"}}
	for name, body := range map[string]string{
		"by the server":               strings.Replace(jis, ` encoding="iso-2022-jp"`, "", 1),
		"by the server, though UTF-8": "<rss><channel><item><title>日本</title></item></channel></rss>",
	} {
		if doc, err := parse([]byte(body), header, feedBase()); err != nil || titles(doc)[0] != "日本" {
			t.Errorf("ISO-2022-JP %s: %+v, error %v", name, doc, err)
		}
	}
}

// A root behind more than 4,096 bytes, which is as far as gofeed looks.
func TestLateRoot(t *testing.T) {
	text := strings.Replace(samples["RSS 2.0"], "<!-- made by hand -->", "<!--"+strings.Repeat(" <rss> ", 2000)+"--><!DOCTYPE rss [<!ENTITY x \"y\">]>", 1)
	if doc, err := parse([]byte(text), nil, feedBase()); err != nil || len(doc.entries) != 3 {
		t.Errorf("%+v, error %v", doc, err)
	}
}

func TestNoFeed(t *testing.T) {
	for _, body := range []string{"", " ", "<", "<html><body>Just a moment</body></html>", "<?xml version=\"1.0\"?>", `{"error": "down"}`, "{}", "[]", "not found",
		"<opml><body/></opml>", "<rss", `{"items": 1}`, `{"version":"https://jsonfeed.org/version/1.1","items":null}`, `{"version":"https://jsonfeed.org/version/1.1"}`,
		`{"version":"https://jsonfeed.org/version/1.1","items":"x"}`, `{"items":{"id":"1"}}`, `{"items":{"0":{"attachments":[{"url":"/a"}]`, "\xff\xfe", "\x00\x00\x00\x00"} {
		if doc, err := parse([]byte(body), nil, feedBase()); !errors.Is(err, fetcher.ErrMalformed) {
			t.Errorf("%q: %+v, error %v, want ErrMalformed", body, doc, err)
		}
	}
	for name, body := range map[string]string{
		"elements": "<rss><channel>" + strings.Repeat("<a>", 1_000_000),
		"in items": "<rss><channel><item>" + strings.Repeat("<x:a>", 1_000_000) + strings.Repeat("</x:a>", 1_000_000) + "</item></channel></rss>",
	} {
		if _, err := parse([]byte(body), nil, feedBase()); !errors.Is(err, fetcher.ErrMalformed) {
			t.Errorf("deep %s: error %v, want ErrMalformed", name, err)
		}
	}
	deep := strings.Replace(samples["RSS 2.0"], "<guid>g1", strings.Repeat("<x:a>", 1000)+strings.Repeat("</x:a>", 1000)+"<guid>g1", 1)
	if doc, err := parse([]byte(deep), nil, feedBase()); err != nil || !slices.Equal(titles(doc), wantTitles[1:]) {
		t.Errorf("an item that is too deep: %v, error %v, want the others", doc, err)
	}
}
