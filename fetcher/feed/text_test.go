package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shownAs returns the only post of a document with white space as one space: its title, a bar
// and the text below it.
func shownAs(t *testing.T, body string) (text string, urls []string) {
	t.Helper()
	_, posts := mapped(t, body)
	if len(posts) != 1 {
		t.Fatalf("%d posts of %s", len(posts), body)
	}
	post := posts[0]
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, u := range post.URLs {
		urls = append(urls, u.URL)
	}
	return post.Entry.Title + "|" + words(strings.TrimPrefix(post.FullText, post.Entry.Title)), urls
}

// RFC 4287, sections 3.1 and 4.1.3.
func TestAtomTexts(t *testing.T) {
	const xhtml = `xmlns="http://www.w3.org/1999/xhtml"`
	for _, tt := range []struct{ name, entry, want string }{
		{"no type is literal text", `<title>Why &lt;b&gt; and &amp;amp;</title>`, "Why <b> and &amp;|"},
		{"type text is literal text", `<title type="text">a &lt;br/&gt; &amp;lt;</title><content type="TEXT">x &lt;p&gt; &amp;nbsp;</content>`, "a <br/> &lt;|x <p> &nbsp;"},
		{"text in CDATA", `<title><![CDATA[<b>a</b> &amp;]]></title><summary><![CDATA[<p>b</p>]]></summary>`, "<b>a</b> &amp;|<p>b</p>"},
		{"text/plain is literal text", `<title>a</title><content type="text/plain">&lt;p&gt;</content>`, "a|<p>"},
		{"html", `<title type="html">a &lt;b&gt;b&lt;/b&gt; &amp;amp;lt; &lt;script&gt;no&lt;/script&gt;</title><content type="html">&lt;p&gt;x&lt;/p&gt;&lt;p&gt;y</content>`, "a b &lt;|x y"},
		{"html in CDATA", `<title type="html"><![CDATA[<div>a</div> &amp; b]]></title><content type="html"><![CDATA[<td>x</td><td>y</td>]]></content>`, "a & b|x y"},
		{"text/html of Atom 0.3", `<title mode="escaped" type="text/html">&lt;i&gt;a&lt;/i&gt;</title>`, "a|"},
		{"html that is markup", `<title type="html">a <b>b</b> c</title><content type="html"><p>x</p>&lt;p&gt;y&lt;/p&gt;</content>`, "a b c|x y"},
		{"a formula", `<title type="xhtml"><div ` + xhtml + `>Energy <m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mi>E</m:mi><m:mo>=</m:mo></m:math> end</div></title>`, "Energy E= end|"},
		{"text that is markup", `<title>a <b>b</b> &lt;</title><content><p>x</p><p>y</p></content>`, "a b <|x y"},
		{"xhtml", `<title type="xhtml"><div ` + xhtml + `>Less: <em> &lt; </em></div></title><content type="xhtml"><div ` + xhtml + `>&lt;p&gt; &amp;amp;</div></content>`, "Less: <|<p> &amp;"},
		{"xhtml with a prefix", `<title type="xhtml"><xhtml:div xmlns:xhtml="http://www.w3.org/1999/xhtml">a<xhtml:br/>b</xhtml:div></title><content type="xhtml" xmlns:h="http://www.w3.org/1999/xhtml"><h:div><h:p>x</h:p><h:script>no</h:script><h:p>y</h:p></h:div></content>`, "a b|x y"},
		{"xhtml with a prefix that nobody declares", `<title type="xhtml"><x:div>a<x:br/>b</x:div></title>`, "a b|"},
		{"xhtml in Atom's namespace", `<title type="xhtml"><div>a</div></title><content type="xhtml"><DIV><P>x</P><P>y</P></DIV></content>`, "a|x y"},
		{"xhtml without elements", `<title type="xhtml">a &lt;b&gt;</title>`, "a <b>|"},
		{"elements that XML ends", `<title type="xhtml"><div>a<script/>b</div></title><content type="xhtml"><div><p>x<iframe src="u"/></p><script/><style/><textarea/><title/><noscript/><object/><video/><plaintext/><template/><svg><title/><g/></svg><p>y</p></div></content>`, "ab|x y"},
		{"what is not shown", `<title>a</title><content type="xhtml"><div>x<script>if (1 &lt; 2) no</script><noscript><p>no</p></noscript><iframe>no</iframe><template><p>no</p></template>y</div></content>`, "a|x y"},
		{"application/xhtml+xml", `<title>a</title><content type="application/xhtml+xml"><html><head><title>no</title></head><body><p>x</p><p>y</p></body></html></content>`, "a|x y"},
		{"a file is no text", `<title>a</title><content type="image/png">iVBORw0KGgo=</content>`, "a|"},
		{"a file elsewhere is no text", `<title>a</title><content type="video/mp4" src="x.mp4"/><summary>s</summary>`, "a|s"},
		{"the content before the summary", `<title>a</title><summary type="html">&lt;p&gt;s</summary><content>c &lt;</content>`, "a|c <"},
		{"entities", `<title type="html">caf&eacute; &mdash; AT&T &nosuch; &#233; &#xe9;</title>`, "café — AT&T &nosuch; é é|"},
		{"what others name title", `<title>a</title><media:title xmlns:media="http://search.yahoo.com/mrss/">no</media:title><x:title xmlns:x="urn:x">no</x:title>`, "a|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, feed := range []string{
				`<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>1</id>` + tt.entry + `</entry></feed>`,
				`<feed><title>T</title><entry><id>1</id>` + tt.entry + `</entry><entry><id>2</id><title>cut`,
			} {
				if got, _ := shownAs(t, feed); got != tt.want {
					t.Errorf("%s\n got %q\nwant %q", feed, got, tt.want)
				}
			}
		})
	}
	for links, want := range map[string]string{
		`<link rel="http://www.iana.org/assignments/relation/alternate" href="/a"/><link href="/b"/>`:                              "https://ice.example.org/a",
		`<link rel="RELATED" href="/a"/><link rel="Alternate" href="/b"/>`:                                                         "https://ice.example.org/b",
		`<link type="application/json" href="/a"/><link href="/b"/>`:                                                               "https://ice.example.org/b",
		`<link type="application/json" href="/a"/><link type="Text/HTML; charset=utf-8" href="/b"/>`:                               "https://ice.example.org/b",
		`<link type="application/pdf" href="/a"/><link type="application/xhtml+xml" href="/b"/><link type="text/html" href="/c"/>`: "https://ice.example.org/b",
		`<link type="application/json" href="/a"/><link rel="related" type="text/html" href="/b"/>`:                                "https://ice.example.org/a",
	} {
		if _, urls := shownAs(t, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title>a</title>`+links+`</entry></feed>`); len(urls) != 1 || urls[0] != want {
			t.Errorf("%s: %q, want %s", links, urls, want)
		}
	}
	unclosed := `<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:id>1</a:id><a:title type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p>x<h:b>y</h:p></h:div></a:title></a:entry></a:feed>`
	if got, _ := shownAs(t, unclosed); got != "xy|" {
		t.Errorf("an element without an end: %q", got)
	}
	prefixed := `<a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:entry><a:id>1</a:id><a:title type="html">x &lt;b&gt;y</a:title><a:content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>z</p></div></a:content></a:entry></a:feed>`
	if got, _ := shownAs(t, prefixed); got != "x y|z" {
		t.Errorf("a feed with a prefix: %q", got)
	}
}

// RFC 3986, section 5, and XML Base. The feed's address is https://ice.example.org/feed.
func TestBases(t *testing.T) {
	atom := func(feed, entry, content string) string {
		return fmt.Sprintf(`<feed xmlns="http://www.w3.org/2005/Atom" %s><title>T</title><entry %s><id>1</id><title>a</title><link href="l"/><link rel="enclosure" href="e.mp3"/><content %s</content></entry></feed>`, feed, entry, content)
	}
	rss := func(root, item, inner string) string {
		return fmt.Sprintf(`<rss %s><channel><title>T</title><link>https://site.example/s/</link><item %s><guid isPermaLink="false">1</guid>%s<description><![CDATA[<a href="r">x</a> about xml:base="q"]]></description></item></channel></rss>`, root, item, inner)
	}
	const html, xhtml = `type="html">&lt;a href="r"&gt;x&lt;/a&gt;`, `type="xhtml"><div><a href="r">x</a></div>`
	for _, tt := range []struct {
		name, feed string
		want       []string // the link, the enclosure, and the link in the text
	}{
		{"none", atom("", "", html), []string{"https://ice.example.org/l", "https://ice.example.org/e.mp3", "https://ice.example.org/r"}},
		{"a file", atom(`xml:base="https://b.example/blog/index.html"`, "", xhtml), []string{"https://b.example/blog/l", "https://b.example/blog/e.mp3", "https://b.example/blog/r"}},
		{"a folder", atom(`xml:base="https://b.example/blog/"`, "", html), []string{"https://b.example/blog/l", "https://b.example/blog/e.mp3", "https://b.example/blog/r"}},
		{"a host", atom(`xml:base="https://b.example"`, "", html), []string{"https://b.example/l", "https://b.example/e.mp3", "https://b.example/r"}},
		{"relative", atom(`xml:base="a/b"`, `xml:base="c/"`, html), []string{"https://ice.example.org/a/c/l", "https://ice.example.org/a/c/e.mp3", "https://ice.example.org/a/c/r"}},
		{"without a scheme", atom(`xml:base="//b.example/x/"`, `xml:base="/y/"`, xhtml), []string{"https://b.example/y/l", "https://b.example/y/e.mp3", "https://b.example/y/r"}},
		{"dot segments", atom(`xml:base="https://b.example/a/b/c/"`, `xml:base="../../d/./"`, html), []string{"https://b.example/a/d/l", "https://b.example/a/d/e.mp3", "https://b.example/a/d/r"}},
		{"of the content", atom("", "", `xml:base="https://b.example/c/d" `+html), []string{"https://ice.example.org/l", "https://ice.example.org/e.mp3", "https://b.example/c/r"}},
		{"of an element", atom("", "", `type="xhtml"><div xml:base="/c/"><a href="r">x</a></div>`), []string{"https://ice.example.org/l", "https://ice.example.org/e.mp3", "https://ice.example.org/c/r"}},
		{"no web address", atom(`xml:base="urn:uuid:1"`, `xml:base=""`, html), []string{"https://ice.example.org/l", "https://ice.example.org/e.mp3", "https://ice.example.org/r"}},
		{"of a feed that is cut off", strings.TrimSuffix(atom(`xml:base="https://b.example/blog/"`, "", html), "</feed>") + "<entry>", []string{"https://b.example/blog/l", "https://b.example/blog/e.mp3", "https://b.example/blog/r"}},

		{"RSS: the item's link", rss("", "", `<link>/i/1.html</link><enclosure url="e.mp3"/>`), []string{"https://ice.example.org/i/1.html", "https://ice.example.org/e.mp3", "https://ice.example.org/i/r"}},
		{"RSS: the site's link", rss("", "", `<enclosure url="e.mp3"/>`), []string{"", "https://ice.example.org/e.mp3", "https://site.example/s/r"}},
		{"RSS: the root's base", rss(`a="b=c xml:base='https://no.example/'" xml:base="https://b.example/x/index.html"`, "", `<link>l</link><enclosure url="e.mp3"/>`), []string{"https://b.example/x/l", "https://b.example/x/e.mp3", "https://b.example/x/r"}},
		{"RSS: the item's base", rss(`xml:base="https://b.example/x/"`, `xml:base="y/"`, `<link>l</link><enclosure url="e.mp3"/>`), []string{"https://b.example/x/y/l", "https://b.example/x/y/e.mp3", "https://b.example/x/y/r"}},
		{"JSON: the item's URL", `{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1","url":"https://j.example/a/b","content_html":"<a href=r>x</a>","attachments":[{"url":"e.mp3"}]}]}`,
			[]string{"https://j.example/a/b", "https://ice.example.org/e.mp3", "https://j.example/a/r"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, posts := mapped(t, tt.feed)
			if len(posts) != 1 {
				t.Fatalf("%d posts", len(posts))
			}
			p := posts[0]
			got := []string{p.Entry.Link, "", ""}
			if len(p.Entry.Enclosures) > 0 && len(p.URLs) > 0 {
				got[1], got[2] = p.Entry.Enclosures[0].URL, p.URLs[len(p.URLs)-1].URL
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.HasPrefix(tt.name, "RSS") && !strings.HasSuffix(p.FullText, `about xml:base="q"`) {
				t.Errorf("the text is %q", p.FullText)
			}
		})
	}
	_, urls := shownAs(t, atom("", "", `type="html">&lt;a href="mailto:a@b.example"&gt;m&lt;/a&gt;&lt;a href="#f"&gt;f&lt;/a&gt;&lt;a href="?q"&gt;q&lt;/a&gt;`))
	if want := []string{"https://ice.example.org/l", "https://ice.example.org/feed#f", "https://ice.example.org/feed?q"}; !slices.Equal(urls, want) {
		t.Errorf("URLs %q, want %q", urls, want)
	}
}

// A reference to a character that XML forbids costs itself alone, wherever it is.
func TestForbiddenReferences(t *testing.T) {
	for ref, want := range map[string]string{
		"&#29;": "", "&#0;": "", "&#x0;": "", "&#xFFFF;": "", "&#xfffe;": "", "&#x1D;": "", "&#X1d;": "", "&#000029;": "", "&#x0000001d;": "", "&#11;": "",
		"&#xD800;": "", "&#57343;": "", "&#x110000;": "", "&#99999999999999999999;": "", "\x1d": "", "\uffff": "",
		"&#9;": " ", "&#x41;": "A", "&#x1F600;": "😀", "&#146;": "’", "&#x80;": "€", "&#;": "&#;", "&;": "&;",
	} {
		for _, body := range []string{
			`<rss><channel><title>` + ref + `</title><item><guid>1` + ref + `</guid><title>a` + ref + `b</title><enclosure url="/e` + ref + `"/></item><item><guid>2</guid></item></channel></rss>`,
			`<feed><title>` + ref + `</title><entry><id>1` + ref + `</id><title type="html">a` + ref + `b</title><link href="/e` + ref + `"/></entry><entry><id>2</id></entry></feed>`,
		} {
			doc := read(t, body)
			if len(doc.entries) != 2 || doc.cut || doc.entries[0].title != "a"+want+"b" {
				t.Errorf("%q: %+v, want a%sb", ref, doc, want)
			}
		}
	}
	doc := read(t, "{\"items\":[{\"id\":\"1\",\"title\":\"a\\u001db\",\"content_text\":\"x\ty\"},{\"id\":\"2\",\"content_html\":\"z&#29;\"}]}")
	if len(doc.entries) != 2 || doc.cut || doc.entries[0].title != "ab" || doc.entries[0].content != "x y" {
		t.Errorf("JSON: %+v", doc)
	}
}

// A member of another type, at any level, is left out alone.
func TestJSONMembersOfOtherTypes(t *testing.T) {
	others := []string{`5`, `"x"`, `true`, `null`, `[]`, `{}`, `[1,"x",null,[],{}]`, `{"name":{},"url":[]}`, `1e999`, `-0.5`}
	feed := strings.Fields("version title home_page_url feed_url next_url description icon favicon language authors author hubs user_comment expired")
	item := strings.Fields("url external_url title content_html summary image banner_image date_published date_modified authors author tags language attachments")
	check := func(what, body string) {
		t.Helper()
		_, posts := mapped(t, body)
		if len(posts) != 2 || posts[0].FullText == "" && posts[1].FullText == "" || !strings.HasSuffix(posts[0].FullText+posts[1].FullText, "kept") {
			t.Errorf("%s: %+v", what, posts)
		}
	}
	for _, other := range others {
		for _, name := range feed {
			check("feed: "+name+" "+other, `{"items":[{"id":"1","content_text":"kept"},{"id":"2","content_text":"kept"}],"`+name+`":`+other+`}`)
		}
		for _, name := range item {
			check("item: "+name+" "+other, `{"items":[{"id":"1","`+name+`":`+other+`,"content_text":"kept"},{"id":"2","title":"kept"}]}`)
		}
		for _, name := range []string{"url", "mime_type", "size_in_bytes", "title"} {
			check("attachment: "+name+" "+other, `{"items":[{"id":"1","attachments":[{"`+name+`":`+other+`},{"url":"/f"}],"content_text":"kept"},{"id":"2","title":"kept"}]}`)
		}
		check("id: "+other, `{"items":[{"id":`+other+`,"url":"/1","content_text":"kept"},{"id":"2","title":"kept"}]}`)
		check("content_text: "+other, `{"items":[{"id":"1","content_text":`+other+`,"title":"kept"},{"id":"2","title":"kept"}]}`)
	}
	got, _ := shownAs(t, `{"items":[{"id":"1","title":"Why <b> & &amp;","content_text":"<p>"}]}`)
	if got != "Why <b> & &amp;|<p>" {
		t.Errorf("plain text is %q", got)
	}
}
