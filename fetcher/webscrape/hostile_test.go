package webscrape

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// hostilePages are made to take much time, memory or stack. They have up to 256 KiB,
// 64 KiB in a short test and 1 MiB in a long one.
func hostilePages() map[string]string {
	hostileScale := testsize.Of(16, 4, 1)
	many := func(s string) string { return strings.Repeat(s, 20_000/hostileScale) }
	full := func(s string) string { return strings.Repeat(s, (1<<20)/hostileScale/len(s)) }
	formats := "<p>"
	for range 300 {
		formats += "<font a=" + strings.Repeat("x", len(formats)%97) + "><b class=" + strings.Repeat("y", len(formats)%89) + ">"
	}
	return map[string]string{
		"deep":                            many("<div>x"),
		"deep in line":                    many("<b>x"),
		"deep lists":                      many("<ul><li>x"),
		"deep quotations":                 many("<blockquote>x"),
		"deep tables":                     many("<table><tr><td>x"),
		"deep links":                      many("<a href=x>x"),
		"deep and dropped":                many("<svg>") + many("<object>") + "x",
		"ends without starts":             full("x</z>"),
		"ends of what is too deep":        many("<div>") + many("</div>"),
		"text beside cells":               "<table>" + many("x<tr>"),
		"formats opened again and again":  formats + many("</p><p>x"),
		"a wide row over many rows":       "<table><tr>" + many("<td>x") + many("<tr><td>x"),
		"cells that span all":             "<table>" + many("<tr><td colspan=1000 rowspan=65534>x"),
		"many tables":                     many("<table><tr><td>x</table>"),
		"one wide cell over many rows":    "<table><tr><td>" + full("x") + strings.Repeat("<tr><td>x", 5000/hostileScale),
		"a long base for many links":      "<base href=/" + strings.Repeat("a", 2000) + "/>" + many("<a href=x>x</a>"),
		"an endless base for many links":  "<base href=/" + full("a") + "/>" + many("<a href=x>x</a>"),
		"brackets":                        full("["),
		"marks":                           full("*_`~!\\"),
		"less-than signs":                 full("<"),
		"ampersands":                      full("&a"),
		"lines in lists":                  strings.Repeat("<ul><li>", 100) + "<pre>" + full("x\n"),
		"lines in quotations":             strings.Repeat("<blockquote>", 100) + "<pre>" + full("x\n"),
		"breaks":                          many("<br>x"),
		"an endless attribute":            "<p class=" + full("a") + ">x",
		"many attributes":                 "<p " + full("a=b ") + ">x",
		"a comment without an end":        "x<!--" + full("-"),
		"a script without an end":         "x<script>" + full("</scrip"),
		"a tag without an end":            "x<p " + full("a"),
		"NULs":                            full("\x00<\x00b>"),
		"the converter's own private use": full("\ue000\uf8ff\x1b\x02\x03"),
	}
}

// Each page is converted or refused within bounds of time and size. The bound on time
// is some fifty times what the slowest page takes: the test is to show that no page
// takes time in the square of its length, which would be minutes.
func TestHostilePages(t *testing.T) {
	at, _ := url.Parse("https://example.com/dir/page")
	for _, main := range []bool{false, true} {
		s := scraper(t, func(c *Config) { c.MaxBody, c.MainContent = 1<<20+1<<17, main })
		for name, body := range hostilePages() {
			formats := []string{formatMarkdown, formatHTML, formatText}
			if main {
				formats = formats[:1]
			}
			for _, format := range formats {
				began := time.Now()
				_, content, err := s.convert(t.Context(), &page{url: at, status: 200, contentType: "text/html", body: []byte(body)}, format)
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("%s as %s, main content %v: took %v", name, format, main, took)
				}
				if err != nil && !errors.Is(err, fetcher.ErrMalformed) || len(content) > growth*int(s.cfg.MaxBody) {
					t.Errorf("%s as %s, main content %v: %d bytes, error %v", name, format, main, len(content), err)
				}
			}
		}
	}
}

// Pages for which other parsers build more than they read get a bounded tree.
func TestTreeIsBounded(t *testing.T) {
	at, _ := url.Parse("https://example.com/")
	for name, body := range hostilePages() {
		doc, err := parse(body, at, 4<<20)
		if err != nil {
			continue
		}
		if problem := treeProblem(doc, len(body)); problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if _, err := parse(strings.Repeat("<br>", maxElements+1), at, 1<<20); err != errTooLarge {
		t.Errorf("too many elements: error %v, want errTooLarge", err)
	}
	if _, err := parse(strings.Repeat("a", 1001), at, 1000); err != errTooLarge {
		t.Errorf("too much text: error %v, want errTooLarge", err)
	}
}

// treeProblem returns which bound a tree exceeds, "" for none.
func treeProblem(doc *document, length int) string {
	nodes := 0
	var walk func(n *html.Node, depth, nested, tables int) string
	walk = func(n *html.Node, depth, nested, tables int) string {
		nodes++
		if g, known := groups[n.DataAtom]; n.Type == html.ElementNode && (!known || g&dropped != 0) {
			return "holds an element that is not kept: " + n.Data
		}
		if groups[n.DataAtom]&nesting != 0 {
			nested++
		}
		if n.Data == "table" {
			tables++
		}
		if depth > maxDepth+3 || nested > maxNesting || tables > maxTables {
			return "is too deep"
		}
		for c := range n.ChildNodes() {
			if problem := walk(c, depth+1, nested, tables); problem != "" {
				return problem
			}
		}
		return ""
	}
	for n := range doc.body.ChildNodes() {
		if problem := walk(n, 1, 0, 0); problem != "" {
			return problem
		}
	}
	if nodes > length+10 {
		return "has more nodes than the page has bytes"
	}
	return ""
}

// FuzzConvert: a page is converted or refused; the tree keeps its bounds, and
// the HTML read again is the same.
func FuzzConvert(f *testing.F) {
	for _, p := range []string{
		"", "<p>a", "<table>x<tr><td><table><caption>c<li>", "<svg><title><b></svg>", "<ul><li>a<ol><li>b</ul>", "<a href=/x><a href=y>",
		"<base href=http://h/><img src=x data-src=y>", "<pre>\n a</pre><code>`", "<select><b></select><svg/><p><math><p>", "1. <b>*a*</b> &#x41; &lt",
		"<td>x<th><tbody></table><dl><dt><dd><h1><h2></h1>", "<title>a</title><meta property=og:title content=b>", "\x00<\xff\xfep>", "<blockquote><blockquote></blockquote>",
	} {
		f.Add([]byte(p), "text/html")
	}
	f.Add([]byte("a\r\nb"), "text/plain; charset=utf-16")
	f.Add([]byte("\xff\xfea\x00"), "text/html; charset=shift_jis")
	at, _ := url.Parse("https://example.com/dir/page")
	var scrapers [2]*Scraper
	for i := range scrapers {
		s, err := New(Config{MaxBody: 1 << 16, MainContent: i == 1})
		if err != nil {
			f.Fatal(err)
		}
		scrapers[i] = s
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		if len(body) > 1<<16 {
			return
		}
		watchdog := time.AfterFunc(10*time.Second, func() { panic("a page of 64 KiB takes more than 10 s") })
		defer watchdog.Stop()
		p := &page{url: at, status: 200, contentType: contentType, body: body}
		for _, s := range scrapers {
			for _, format := range []string{formatMarkdown, formatHTML, formatText} {
				title, content, err := s.convert(t.Context(), p, format)
				if err != nil && !errors.Is(err, fetcher.ErrMalformed) {
					t.Fatalf("as %s: %v", format, err)
				}
				if strings.ToValidUTF8(content, "") != content || strings.ToValidUTF8(title, "") != title {
					t.Errorf("as %s: no UTF-8: %q, %q", format, title, content)
				}
			}
		}
		doc, err := parse(p.text(), at, 1<<18)
		if err != nil {
			return
		}
		if problem := treeProblem(doc, 3*len(body)+10); problem != "" {
			t.Error(problem)
		}
		// Markdown is made of the same tree and may not lose text.
		want := strings.Join(strings.Fields(plainText(doc.body)), "")
		var b strings.Builder
		if err := html.Render(&b, doc.body); err != nil {
			t.Fatal(err)
		}
		again, err := parse(b.String(), at, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(plainText(again.body)), ""); got != want {
			t.Errorf("read again the text is %q, was %q, HTML %q", got, want, b.String())
		}
	})
}
