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
		{"divisions", "<div>a</div><div>b</div>", "a\n\nb"},
		{"code keeps its white space", "<p>x</p><pre><code>if a {\n\tb  c\n}</code></pre><p>y</p>", "x\n\nif a {\n\tb  c\n}\n\ny"},
		{"scripts and styles are not text", "a<script>alert('<p>')</script><style>p{}</style>b", "ab"},
		{"cells", "<table><thead><tr><th>Metal</th><th>Price</th></tr></thead><tbody><tr><td>Copper</td><td>9000</td></tr></tbody></table>", "Metal\tPrice\nCopper\t9000"},
		{"cells without ends", "<table><tr><td>a<td>b<tr><td>c<td>d</table>e", "a\tb\nc\td\n\ne"},
		{"cells of no table", "<td>a</td><td>b</td>", "a\tb"},
		{"choices", "<select><optgroup><option>a</option><option>b</select>", "a\nb"},
		{"buttons and pictures stand apart", "<button>a</button><button>b</button>c<img src=x>d", "a b c d"},
		{"a figure", "<figure><img src=x><figcaption>a</figcaption></figure>b", "a\n\nb"},
		{"details", "<details><summary>a</summary>b</details>c", "a\nb\n\nc"},
		{"a rule", "a<hr>b", "a\n\nb"},
		{"line breaks in upper case, and by end tags", "a<BR>b</br>c</p>d", "a\nb\nc\n\nd"},
		{"at most one blank line", "a<br><br><br>b", "a\n\nb"},
		{"elements that nobody knows are words' parts", "a<x-y>b</x-y>c", "abc"},
		{"text for those without scripts", `a <noscript><img src="x" alt="h"><p>no</p></noscript> b`, "a b"},
		{"a frame", "a<iframe src=x><p>no</p></iframe>b", "a b"},
		{"a frame that only XML ends", "a<iframe/>no</iframe>b", "a b"},
		{"templates within each other", "a<template>no<template>no</template>no</template>b", "ab"},
		{"films within each other", "a<object>no<video>no</video>no<object>no</object>no</object>b", "a b"},
		{"a page's head", "<html><head><title>no</title><style>no</style></head><body>a</body></html>", "a"},
		{"a drawing", "a<svg><title>no</title><style>no</style><text>no</text></svg>b", "a b"},
		{"a drawing with elements that XML ends", "a<svg><title/><script/><g/></svg>b<svg/>c", "a b c"},
		{"a block ends a drawing, which has no end", "a<svg><path><p>b", "a\n\nb"},
		{"the end of the block around ends a film, which has none", "<div><video src=x></div>b", "b"},
		{"a formula", "Energy <math><mi>E</mi><mo>=</mo><mi>m</mi></math> end", "Energy E=m end"},
		{"a formula with its source", "<math><semantics><mi>E</mi><annotation/><mo>=</mo><annotation encoding=t>no<mi>no</annotation><annotation-xml>no</annotation-xml><mi>m</mi></semantics></math> end", "E=m end"},
		{"script in a script", "a<script>'<script>'+no</script>b", "ab"},
		{"a script without an end", "a<script>no", "a"},
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

// What HTML shows as a block or cell (HTML standard, section 15.3) never glues its words to
// those around it, and what it does not show is no text.
func TestEveryElement(t *testing.T) {
	for _, name := range strings.Fields("address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset " +
		"figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup html legend li listing main menu nav ol optgroup option p pre search " +
		"section summary table tbody td tfoot th thead tr ul xmp") {
		for _, name := range []string{name, strings.ToUpper(name)} {
			open, end := "<"+name+" class=x>", "</"+name+">"
			if got := strings.Fields(Parse("a" + open + "b" + end + open + "c" + end + "d").Text); len(got) != 4 {
				t.Errorf("%s gives the words %q", open, got)
			}
		}
	}
	for _, name := range strings.Fields("applet audio canvas datalist iframe annotation annotation-xml noembed noframes noscript object script style svg template textarea title video") {
		if got := Parse("a <" + name + ">no</" + name + "> b").Text; got != "a b" {
			t.Errorf("<%s>: %q", name, got)
		}
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
		{"not those that are not shown", `<noscript><a href="https://e.com">x</a></noscript><template><a href="https://e.com">x</a></template>`, nil},
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
