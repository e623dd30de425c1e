package htmltext

import (
	"reflect"
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
			if got := Parse(tt.html).Text; got != tt.want {
				t.Errorf("Parse(%q)\n got %q\nwant %q", tt.html, got, tt.want)
			}
		})
	}
}

func TestHTMLLinks(t *testing.T) {
	tests := []struct {
		name, html string
		want       []Link
	}{
		{"none", "<p>x</p>", nil},
		{"a shortened link", `<a href="https://www.example.com/a/long/path"><span class="invisible">https://www.</span><span class="ellipsis">example.com/a/lo</span><span class="invisible">ng/path</span></a>`,
			[]Link{{"https://www.example.com/a/long/path", "example.com/a/lo…"}}},
		{"a short link", `<a href="https://e.com"><span class="invisible">https://</span><span class="">e.com</span><span class="invisible"></span></a>`,
			[]Link{{"https://e.com", "e.com"}}},
		{"a named link", `<a href="https://e.com/?a=1&amp;b=2">the
			<b>page</b></a>`, []Link{{"https://e.com/?a=1&b=2", "the page"}}},
		{"not mentions", `<a class="u-url mention" href="https://h/@ann">@ann</a>`, nil},
		{"not tags by class", `<a class="hashtag" href="https://h/tag/go">#go</a>`, nil},
		{"not tags by relation", `<a rel="tag ugc" href="https://h/tag/go">#go</a>`, nil},
		{"not anchors", `<a name="x">x</a>`, nil},
		{"unclosed", `<a href="https://a">a <a href="https://b">b`, []Link{{"https://a", "a"}, {"https://b", "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Parse(tt.html).Links; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("at most 100", func(t *testing.T) {
		if got := len(Parse(strings.Repeat(`<a href="https://e.com">x</a>`, 500)).Links); got != MaxLinks {
			t.Errorf("%d links, want %d", got, MaxLinks)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"<p>a<br>b</p>", "<a href=x><span class=invisible>", "</span></a></pre>", "<pre> a\r\nb", "<script>x", "&#0;&#xD800;&amp", "a\xff<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Parse(s)
		if len(c.Links) > MaxLinks {
			t.Errorf("%d links", len(c.Links))
		}
		if strings.HasPrefix(c.Text, "\n") || strings.HasSuffix(c.Text, "\n") {
			t.Errorf("text has breaks at an end: %q", c.Text)
		}
	})
}
