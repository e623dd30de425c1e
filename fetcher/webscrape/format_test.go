package webscrape

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestResultAsJSON(t *testing.T) {
	s := newSite(t, map[string]http.HandlerFunc{
		"/old": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new?a=b#part", http.StatusFound) },
		"/new": serve("text/html", "<title>\n News &amp; more</title><h1>News</h1><p>Today."),
	})
	res, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL + "/old"})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(res)
	want := `{"url":"` + s.URL + `/new?a=b","status_code":200,"title":"News \u0026 more","format":"markdown","content":"# News\n\nToday."}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"paragraphs", "<p>One\n two<p>Three", "One two\n\nThree"},
		{"emphasis", "<p><b>bold</b>, <em>em</em>, <del>gone</del>", "**bold**, *em*, ~~gone~~"},
		{"a relative link", `<a href="../x?q=1">x</a>`, "[x](http://SITE/x?q=1)"},
		{"a link below a base", `<base href="https://o.example/d/"><a href="x">x</a>`, "[x](https://o.example/d/x)"},
		{"only the first base counts", `<base href="https://o.example/"><base href="https://evil.example/"><a href="x">x</a>`, "[x](https://o.example/x)"},
		{"an endless base is none", `<base href="https://o.example/` + strings.Repeat("a", maxURL) + `/"><a href="/x">x</a>`, "[x](http://SITE/x)"},
		{"a script is no link", `<a href="javascript:alert(1)">x</a> <a href=" JaVaScRiPt:y">y</a> <a href="data:text/html,z">z</a>`, "x y z"},
		{"an image", `<img src="/i.png" alt="a pic">`, "![a pic](http://SITE/i.png)"},
		{"an image loaded later", `<img src="data:image/gif;base64,R0" data-src="/i.png" alt="p">`, "![p](http://SITE/i.png)"},
		{"lists", "<ul><li>a<li>b<ol start=3><li>c<li>d</ol></ul>", "- a\n- b\n  \n  3. c\n  4. d"},
		{"lists of old", "<menu><li>a<li>b</menu><dir><li>c</dir>", "- a\n- b\n\n<!--THE END-->\n\n- c"},
		{"a quotation", "<blockquote><p>q<p>r</blockquote>", "> q\n> \n> r"},
		{"code", "<pre><code>a *b*\n  c | d</code></pre><p><code>x_y</code>", "```\na *b*\n  c | d\n```\n\n`x_y`"},
		{"a table", "<table><tr><th>A<th>B<tr><td>1<td>2|3</table>", "| A | B |\n|---|---|\n| 1 | 2\\|3 |"},
		{"a table for looks", `<table role=presentation><tr><td>a<td>b</table>`, "a\n\nb"},
		{"a table with blocks", `<table><tr><td><h2>a</h2><td>b</table>`, "## a\n\nb"},
		{"text beside the cells", `<table>a<tr><td>b</table>`, "| a |\n|---|\n| b |"},
		{"markup in the text", `<p>*a* _b_ [c](d) \ x_y_z 2 * 3 a` + "`b`" + ` &amp;lt; &lt;i&gt; AT&amp;T`, `\*a\* \_b\_ \[c](d) \\ x_y_z 2 * 3 a` + "\\`b\\`" + ` &amp;lt; &lt;i&gt; AT&T`},
		{"marks at the start of a line", `<p># a<p>- b<p>1. c<p>+<p>2020 d<p>#e<p>x<br>--- f<p><b>1</b>. g`, "\\# a\n\n\\- b\n\n1\\. c\n\n\\+\n\n2020 d\n\n#e\n\nx  \n\\--- f\n\n**1**. g"},
		{"a mark before a link", `<p>now! <a href="https://a.example/">x</a><p>now!<a href="https://a.example/">x</a>`, "now! [x](https://a.example/)\n\nnow\\![x](https://a.example/)"},
		{"brackets in a link", `<a href="/x">[1]</a> <a href="/x">a]b</a>`, `[\[1\]](http://SITE/x) [a\]b](http://SITE/x)`},
		{"markup in an image's text", "<img src=/x alt='a\\]`b\\' title='&amp;lt;\\'>`", "![a\\\\\\]\\`b\\\\](http://SITE/x \"&amp;lt;\\\\\")\\`"},
		{"stars at the start of a line", "<p>* a<p>* * *<p>*<p>x<br>* b", "\\* a\n\n\\* * \\*\n\n\\*\n\nx  \n\\* b"},
		{"marks behind white space", "<p>&nbsp;# a<p>&#11;- b<p>#&nbsp;", "\\# a\n\n\v\\- b\n\n\\#"},
		{"marks behind nothing", "<p><b></b>- a<p><b> </b>+ b<p>1<wbr>. c<p>&amp;lt<i></i>;", "\\- a\n\n\\+ b\n\n1\\. c\n\n&amp;lt;"},
		{"marks beside an element", "<p>a *<b>b</b>* ~<del>c</del>", "a \\***b**\\* \\~~~c~~"},
		{"a line below a table's head", "<p>a | b<br>:-- | --<p>|a|<br>|-|<p>a | b<br>-|-", "a | b  \n\\:-- | --\n\n\\|a|  \n\\|-|\n\na | b  \n\\-|-"},
		{"marks at the end of a heading", "<h1>C#</h1><h2>é #&nbsp;</h2><h3>##</h3><h4>a # b</h4>", "# C\\#\n\n## é \\#\n\n### \\#\\#\n\n#### a # b"},
		{"the converter's own marks", "<p>a\uf002# b\a]<pre>c\uf002d</pre>", "a# b]\n\n```\ncd\n```"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := scrapePage(t, "markdown", tt.page, nil)
			host := strings.TrimSuffix(strings.TrimPrefix(res.URL, "http://"), "/dir/page")
			if got := strings.ReplaceAll(res.Content, host, "SITE"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestHTML(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"scripts, styles, comments", "<p>a<script>x</script><style>y</style><!-- z --><noscript>n</noscript><template>t</template>b", "<p>ab</p>"},
		{"frames and drawings", `<iframe src=x></iframe><svg><title>t</title><circle/></svg><object>o<object>i</object></object><math><mi>m</mi></math>a`, "a"},
		{"a drawing without an end", "<svg><g><p>a", "<p>a</p>"},
		{"fields", "<form><input value=x><select><option>o</select><textarea><b></textarea><label>l</label></form>", "<div>l</div>"},
		{"blocks of old and of forms", "<p>a<center>b</center><form>c<fieldset><legend>d</legend>e</fieldset></form><dialog>f</dialog><search>g</search><listing>h</listing>", "<p>a</p><div>b</div><div>c<div><div>d</div>e</div></div><div>f</div><div>g</div><div>h</div>"},
		{"lists of old", "<menu><li>a<dir><li>b</dir><li>c</menu>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"},
		{"a form between the parts of a table", "<table><form><tr><td>a<form>b</form><td>c</form></table>", "<table><tr><td>a<div>b</div></td><td>c</td></tr></table>"},
		{"attributes", `<p onclick=x style=y class="c" id=i class="d" data-z=1>a`, `<p class="c" id="i">a</p>`},
		{"unknown elements", "<my-app><x:y>a</x:y><p>b</p></my-app>", "a<p>b</p>"},
		{"links", `<a href="/x" target=_top>a</a><a href="mailto:a@b.example">m</a>`, `<a href="http://SITE/x">a</a><a href="mailto:a@b.example">m</a>`},
		{"a link in a link", `<a href="/x">a<a href="/y">b`, `<a href="http://SITE/x">a</a><a href="http://SITE/y">b</a>`},
		{"text is escaped", `<p title="&quot;>">&lt;script> &amp;amp;`, `<p title="&#34;&gt;">&lt;script&gt; &amp;amp;</p>`},
		{"implied ends", "<ul><li>a<li>b</ul><dl><dt>t<dd>d<dt>u</dl><h1>h<h2>i</h2>", "<ul><li>a</li><li>b</li></ul><dl><dt>t</dt><dd>d</dd><dt>u</dt></dl><h1>h</h1><h2>i</h2>"},
		{"implied parts of tables", "<table><td>a<tbody><tr><td>b<td>c<tr><th>d</table>e", "<table><tr><td>a</td></tr><tbody><tr><td>b</td><td>c</td></tr><tr><th>d</th></tr></tbody></table>e"},
		{"a table in a cell", "<table><tr><td>a<table><tr><td>b</table>c<td>d</table>", "<table><tr><td>a<table><tr><td>b</td></tr></table>c</td><td>d</td></tr></table>"},
		{"a cell without a table", "<td>a</td><tr>b", "ab"},
		{"ends in the wrong order", "<p><b>a<i>b</b>c</i>d", "<p><b>a<i>b</i></b>cd</p>"},
		{"ends of nothing", "</div></p></td></b>a</table>", "a"},
		{"an end does not leave its cell", "<b>a<table><tr><td>b</b>c</table>", "<b>a<table><tr><td>bc</td></tr></table></b>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := scrapePage(t, "html", tt.page, nil)
			host := strings.TrimSuffix(strings.TrimPrefix(res.URL, "http://"), "/dir/page")
			if got := strings.ReplaceAll(res.Content, host, "SITE"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"paragraphs", "<h1>h</h1> <p>a <b> b</b>\n c<p>d<br>e", "h\n\na b c\n\nd\ne"},
		{"lists", "<ul><li>a<li><p>b</ul>c", "- a\n\n- b\n\nc"},
		{"tables", "<table><tr><td>a<td>b<tr><td>c<td>d</table>", "a\tb\nc\td"},
		{"blocks of old and of forms", "a<center>b</center>c<form>d<fieldset><legend>e</legend>f</fieldset></form><dialog>g</dialog><menu><li>h<li>i</menu><search>j</search>", "a\n\nb\n\nc\n\nd\n\ne\n\nf\n\ng\n\n- h\n- i\n\nj"},
		{"preformatted", "<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\n\nd"},
		{"blank lines of preformatted text", "a<pre>\n\n\nb\n\n\n\nc<br><br>\n\n  d\n\n\n</pre>e<br><br><br>f", "a\n\nb\n\n\n\nc\n\n\n\n  d\n\ne\n\nf"},
		{"blocks in preformatted text", "<pre>a\n\n\n<div>b</div>\nc</pre>", "a\n\n\nb\n\nc"},
		{"references", "a &lt;b&gt; &copy;&nbsp;&#x41;", "a <b> ©\u00a0A"},
		{"blank", " \n\t<p> </p> ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if res := scrapePage(t, "text", tt.page, nil); res.Content != tt.want || res.Format != "text" {
				t.Errorf("got  %q\nwant %q", res.Content, tt.want)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ name, page, want string }{
		{"of the page", "<title>a\n <b> &amp; c</title><title>d</title>", "a <b> & c"},
		{"for sharing", `<meta property="og:title" content="shared">x`, "shared"},
		{"the page's before the shared", `<meta property="og:title" content="shared"><title>t</title>`, "t"},
		{"not a drawing's", "<svg><title>no</title></svg>x", ""},
		{"of endless length", "<title>" + strings.Repeat("é", 5000) + "</title>", strings.Repeat("é", 500)},
		{"none", "x", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if res := scrapePage(t, "", tt.page, nil); res.Title != tt.want {
				t.Errorf("title %q, want %q", res.Title, tt.want)
			}
		})
	}
}

func TestPlainTextPages(t *testing.T) {
	for _, tt := range []struct{ kind, format, want string }{
		{"text/plain", "markdown", "# a <b>\nc"},
		{"text/markdown; charset=utf-8", "text", "# a <b>\nc"},
		{"text/plain", "html", "<pre># a &lt;b&gt;\nc</pre>"},
	} {
		s := newSite(t, map[string]http.HandlerFunc{"/": serve(tt.kind, "# a <b>\r\nc\n")})
		res, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL, Format: tt.format})
		if err != nil || res.Content != tt.want || res.Title != "" {
			t.Errorf("%s as %s: %q, %v, want %q", tt.kind, tt.format, res.Content, err, tt.want)
		}
	}
}

func TestCharsets(t *testing.T) {
	const hello = "<p>\xcf\xf0\xe8\xe2\xe5\xf2" // in windows-1251
	style := "<head><style>" + strings.Repeat("p{margin:0} ", 100) + "</style>"
	declared := `<?xml version="1.0" encoding="windows-1251"?>`
	for _, tt := range []struct{ name, kind, body, want string }{
		{"of the header", "text/html; charset=iso-8859-1", "<p>caf\xe9", "café"},
		{"of the page", "text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8", "При"},
		{"of the page, in 7 bits", "text/html", "<meta charset=iso-2022-jp><p>\x1b$BF|K\\\x1b(B", "日本"},
		{"of the page, though it could be UTF-8", "text/html", "<meta charset=gbk><p>\xc4\xa3\xc4\xa3", "模模"},
		{"of the page as a Latin one, though it is UTF-8", "text/html", "<meta charset=iso-8859-1><p>café", "café"},
		{"the header's before the page's", "text/html; charset=utf-8", "<meta charset=iso-8859-1><p>café", "café"},
		{"of the byte order mark", "text/html; charset=iso-8859-1", "\xef\xbb\xbf<p>café", "café"},
		{"UTF-16", "text/html", "\xff\xfe<\x00p\x00>\x00\xe9\x00", "é"},
		{"Shift_JIS", "text/html; charset=Shift_JIS", "<p>\x93\xfa\x96\x7b", "日本"},
		{"GBK", "text/html; charset=gb2312", "<p>\xd6\xd0", "中"},
		{"UTF-8 that nobody named", "text/html", "<p>" + strings.Repeat("a", 2000) + "é", strings.Repeat("a", 2000) + "é"},
		{"windows-1252 that nobody named", "text/html", "<p>\x93q\x94", "“q”"},
		{"mixed: what is no UTF-8 is replaced", "text/html; charset=utf-8", "<p>é\xe9x", "é\ufffdx"},
		{"a name nobody knows", "text/html; charset=klingon", "<p>é", "é"},
		{"broken parameters", "text/html; charset", "<p>é", "é"},
		{"no type at all", "", "<!doctype html><p>é", "é"},
		{"behind much style", "text/html", style + "<meta charset=windows-1251></head>" + hello, "Привет"},
		{"behind much style, for http-equiv", "text/html", style + `<META content='text/html; charset="windows-1251"' HTTP-EQUIV=Content-Type />` + hello, "Привет"},
		{"behind much style and a meta of something else", "text/html", `<meta name=a content="charset=gbk">` + style + `<meta charset="nonsense"><meta charset="cp1251">` + hello, "Привет"},
		{"in the body", "text/html", "<body>" + hello + strings.Repeat(" ", 2000) + "<meta charset=windows-1251>", "Привет"},
		{"the first of two", "text/html", style + "<meta charset=windows-1251><meta charset=koi8-r>" + hello, "Привет"},
		{"in a comment, a script and a title", "text/html", style + "<!--<meta charset=gbk>--><script>'<meta charset=gbk>'</script><title><meta charset=gbk></title><meta charset=windows-1251>" + hello, "Привет"},
		{"behind much style, and it is UTF-8", "text/html", style + "<meta charset=iso-8859-1><p>é", "é"},
		{"the header's before one behind much style", "text/html; charset=windows-1251", style + "<meta charset=gbk>" + hello, "Привет"},
		{"UTF-16 in a meta is UTF-8", "text/html", style + "<meta charset=utf-16le><p>é\xff", "é\ufffd"},
		{"x-user-defined in a meta is windows-1252", "text/html", style + "<meta charset=x-user-defined><p>\x93q\x94", "“q”"},
		{"of an XML declaration", "text/html", declared + "<html>" + hello, "Привет"},
		{"of an XML declaration in other quotes", "text/html", "<?xml version='1.0' encoding = 'cp1251' standalone='yes'?>" + hello, "Привет"},
		{"of a meta before an XML declaration", "text/html", `<?xml version="1.0" encoding="gbk"?>` + style + "<meta charset=windows-1251>" + hello, "Привет"},
		{"of an XML declaration before a meta in XHTML", "application/xhtml+xml", declared + `<html><meta charset="gbk"/>` + hello, "Привет"},
		{"UTF-16 in an XML declaration is UTF-8", "text/html", `<?xml version="1.0" encoding="utf-16"?><p>é`, "é"},
		{"an XML declaration in UTF-16", "text/html", "<\x00?\x00x\x00m\x00l\x00?\x00>\x00<\x00p\x00>\x00\xe9\x00", "é"},
		{"an XML declaration in UTF-16, the other way round", "text/html", "\x00<\x00?\x00x\x00m\x00l\x00?\x00>\x00<\x00p\x00>\x00\xe9", "é"},
		{"an XML declaration of a name nobody knows", "text/html", `<?xml version="1.0" encoding="klingon"?><p>é`, "é"},
		{"parameters of the header twice", "text/html; charset=windows-1251; charset=windows-1251", hello, "Привет"},
		{"a meta in plain text", "text/plain", strings.Repeat("é", 1000) + "<meta charset=gbk>", strings.Repeat("é", 1000) + "<meta charset=gbk>"},
		{"XHTML", "application/xhtml+xml", `<?xml version="1.0"?><html><p>é</p></html>`, "é"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
				if tt.kind == "" {
					w.Header()["Content-Type"] = nil
				} else {
					w.Header().Set("Content-Type", tt.kind)
				}
				w.Write([]byte(tt.body))
			}})
			res, err := scraper(t, nil).Scrape(t.Context(), fetcher.ScrapeQuery{URL: s.URL, Format: "text"})
			if err != nil || res.Content != tt.want {
				t.Errorf("%q, %v, want %q", res.Content, err, tt.want)
			}
		})
	}
}

func TestMainContent(t *testing.T) {
	sentence := "The council met on Monday, and after a long debate, it agreed on the plan, which had been drawn up in May. "
	page := `<title>Plan agreed</title><nav><a href="/">Home</a> <a href="/sport">Sport</a></nav>
		<div class="sidebar ad-banner"><p>Buy now!</p></div>
		<article><h1>Plan agreed</h1><p>` + strings.Repeat(sentence, 5) + `</p><p>` + strings.Repeat(sentence, 5) + `</p></article>
		<footer>Imprint</footer>`
	main := func(c *Config) { c.MainContent = true }
	for _, format := range []string{"markdown", "html", "text"} {
		whole, part := scrapePage(t, format, page, nil).Content, scrapePage(t, format, page, main).Content
		for _, clutter := range []string{"Sport", "Buy now", "Imprint"} {
			if !strings.Contains(whole, clutter) || strings.Contains(part, clutter) {
				t.Errorf("%s: %q should be in the whole page alone", format, clutter)
			}
		}
		if strings.Count(part, "council met") != 10 {
			t.Errorf("%s: the main content is not whole: %s", format, part)
		}
	}
	page = `<article><h1>The plan</h1><p>` + strings.Repeat(sentence, 5) + `</p><h2>In May</h2><p>` + strings.Repeat(sentence, 5) +
		`</p><h1>The cost</h1><p>` + strings.Repeat(sentence, 5) + `</p><h4>In June</h4><p>` + strings.Repeat(sentence, 5) + `</p></article>`
	for format, want := range map[string][]string{
		"markdown": {"# The plan\n", "## In May\n", "# The cost\n", "#### In June\n"},
		"html":     {"<h1>The plan</h1>", "<h2>In May</h2>", "<h1>The cost</h1>", "<h4>In June</h4>"},
	} {
		got := "\n" + scrapePage(t, format, page, main).Content
		for _, heading := range want {
			if format == "markdown" {
				heading = "\n" + heading
			}
			if !strings.Contains(got, heading) {
				t.Errorf("%s: no %q in %s", format, heading, got)
			}
		}
	}
	if got := scrapePage(t, "text", "<ul><li><a href=/>x</a></ul>", main).Content; got != "- x" {
		t.Errorf("a page without main content gave %q, want it whole", got)
	}
}
