package mastodon

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestHTMLToText(t *testing.T) {
	tests := []struct{ name, html, want string }{
		{"nothing", "", ""},
		{"one paragraph", "<p>hello</p>", "hello"},
		{"two paragraphs", "<p>one</p><p>two</p>", "one\n\ntwo"},
		{"two paragraphs, white space between", "<p>one</p>\n  <p>two</p>\n", "one\n\ntwo"},
		{"line break", "<p>one<br>two<br />three<br/>four</p>", "one\ntwo\nthree\nfour"},
		{"two line breaks", "one<br><br>two", "one\n\ntwo"},
		{"line break at an end", "<p>one<br></p>", "one"},
		{"spaces around a line break", "one <br> two", "one\ntwo"},
		{"source lines are no lines", "<p>one\n   two\tthree</p>", "one two three"},
		{"entities", "<p>a &amp; b &lt;c&gt; &quot;d&quot; &#39;e&#39; &eacute; &#x1F600;</p>", `a & b <c> "d" 'e' é 😀`},
		{"an entity is not a tag", "&lt;br&gt;", "<br>"},
		{"a sign that begins no tag", "1 < 2 & 3", "1 < 2 & 3"},
		{"no-break spaces stay", "a&nbsp;&nbsp;b", "a\u00a0\u00a0b"},
		{"a shortened link is whole", `see <a href="https://example.com/a/long/path"><span class="invisible">https://</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>.`, "see https://example.com/a/long/path."},
		{"mention", `<span class="h-card"><a href="https://h/@ann" class="u-url mention">@<span>ann</span></a></span> hi`, "@ann hi"},
		{"tag", `<a href="https://h/tags/go" class="mention hashtag" rel="tag">#<span>Go</span></a>`, "#Go"},
		{"bold and italic", "<p><strong>a</strong><em>b</em> c</p>", "ab c"},
		{"list", "<p>buy</p><ul><li>milk</li><li>bread</li></ul><p>now</p>", "buy\n\nmilk\nbread\n\nnow"},
		{"quotation", "<blockquote><p>q</p></blockquote>a", "q\n\na"},
		{"divisions", "<div>a</div><div>b</div>", "a\nb"},
		{"code keeps its white space", "<p>x</p><pre><code>if a {\n\tb  c\n}</code></pre><p>y</p>", "x\n\nif a {\n\tb  c\n}\n\ny"},
		{"scripts and styles are not text", "a<script>alert('<p>')</script><style>p{}</style>b", "ab"},
		{"comments are not text", "a<!-- c -->b", "ab"},
		{"unclosed tags", "<p>a<p>b<br", "a\n\nb"},
		{"plain text", "just words", "just words"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseHTML(tt.html).text; got != tt.want {
				t.Errorf("parseHTML(%q)\n got %q\nwant %q", tt.html, got, tt.want)
			}
		})
	}
}

func TestHTMLLinks(t *testing.T) {
	tests := []struct {
		name, html string
		want       []link
	}{
		{"none", "<p>x</p>", nil},
		{"a shortened link", `<a href="https://www.example.com/a/long/path"><span class="invisible">https://www.</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>`,
			[]link{{"https://www.example.com/a/long/path", "example.com/a/lo…"}}},
		{"a short link", `<a href="https://e.com"><span class="invisible">https://</span><span class="">e.com</span><span class="invisible"></span></a>`,
			[]link{{"https://e.com", "e.com"}}},
		{"a named link", `<a href="https://e.com/?a=1&amp;b=2">the
			<b>page</b></a>`, []link{{"https://e.com/?a=1&b=2", "the page"}}},
		{"not mentions", `<a class="u-url mention" href="https://h/@ann">@ann</a>`, nil},
		{"not tags by class", `<a class="hashtag" href="https://h/tag/go">#go</a>`, nil},
		{"not tags by relation", `<a rel="tag ugc" href="https://h/tag/go">#go</a>`, nil},
		{"not anchors", `<a name="x">x</a>`, nil},
		{"unclosed", `<a href="https://a">a <a href="https://b">b`, []link{{"https://a", "a"}, {"https://b", "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseHTML(tt.html).links; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("at most 100", func(t *testing.T) {
		if got := len(parseHTML(strings.Repeat(`<a href="https://e.com">x</a>`, 500)).links); got != maxItems {
			t.Errorf("%d links, want %d", got, maxItems)
		}
	})
}

func TestWords(t *testing.T) {
	tests := []struct {
		name, text, marks, inner, word string
		want                           []int
	}{
		{"a tag", "hi #go", "#＃", "", "go", []int{3, 6}},
		{"in any case", "hi #GoLang", "#＃", "", "golang", []int{3, 10}},
		{"offsets are code points", "😀é #go", "#＃", "", "go", []int{3, 6}},
		{"a tag in another script", "#東京 です", "#＃", "", "東京", []int{0, 3}},
		{"a wide mark", "＃東京", "#＃", "", "東京", []int{0, 3}},
		{"not the start of a longer tag", "#golang", "#＃", "", "go", nil},
		{"after a longer tag", "#golang #go", "#＃", "", "go", []int{8, 11}},
		{"the first of two", "#go #go", "#＃", "", "go", []int{0, 3}},
		{"not inside a word", "x#go", "#＃", "", "go", nil},
		{"a mention", "hi @ann!", "@", ".-@", "ann", []int{3, 7}},
		{"a mention at the end of a sentence", "hi @ann.", "@", ".-@", "ann", []int{3, 7}},
		{"a mention with its host", "@ann@a.example, hi", "@", ".-@", "ann@a.example", []int{0, 14}},
		{"the short form of one with a host", "@ann@a.example, hi", "@", ".-@", "ann", []int{0, 4}},
		{"an address is no mention", "joe@ann", "@", ".-@", "ann", nil},
		{"marks alone", "## @@ #", "#＃", "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := words([]rune(tt.text), tt.marks, tt.inner)[tt.word]; !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzParseHTML(f *testing.F) {
	for _, s := range []string{"<p>a<br>b</p>", "<a href=x><span class=invisible>", "</span></a></pre>", "<pre> a\r\nb", "<script>x", "&#0;&#xD800;&amp", "a\xff<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := parseHTML(s)
		if len(c.links) > maxItems {
			t.Errorf("%d links", len(c.links))
		}
		if strings.HasPrefix(c.text, "\n") || strings.HasSuffix(c.text, "\n") {
			t.Errorf("text has breaks at an end: %q", c.text)
		}
		words([]rune(c.text), "@", ".-@")
	})
}
