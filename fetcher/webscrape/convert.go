package webscrape

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/streamwatch/streamwatch/fetcher"
)

// growth limits the size of a page's tree and of the result, in multiples of Config.MaxBody.
const growth = 4

// convert returns a page's title and its content in the given format.
func (s *Scraper) convert(ctx context.Context, p *page, format string) (title, content string, err error) {
	text := p.text()
	limit := growth * int(s.cfg.MaxBody)
	switch kind := p.kind(); kind {
	case "text/html", "application/xhtml+xml":
		doc, err := parse(text, p.url, limit)
		if err != nil {
			return "", "", refuse(p.url.Host, "the page has "+err.Error())
		}
		title = doc.title
		if content, err = s.render(ctx, p, doc, format); err != nil {
			return "", "", err
		}
	case "text/plain", "text/markdown":
		content = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
		if format == formatHTML {
			content = "<pre>" + html.EscapeString(content) + "</pre>"
		}
	default:
		return "", "", refuse(p.url.Host, fmt.Sprintf("the page has the content type %q: want text/html, application/xhtml+xml, text/plain or text/markdown", cut(kind, 100)))
	}
	if len(content) > limit {
		return "", "", refuse(p.url.Host, fmt.Sprintf("the page's content is over %d bytes", limit))
	}
	return title, content, nil
}

// render converts a document to the given format. A step cannot be interrupted, so render
// checks the context between steps.
func (s *Scraper) render(ctx context.Context, p *page, doc *document, format string) (string, error) {
	body := doc.body
	if s.cfg.MainContent {
		markHeadings(doc.root)
		if main := mainContent(doc, p); main != nil {
			body = main
		}
		restoreHeadings(body)
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("webscrape: %s: %w", p.url.Host, ctx.Err())
	}
	switch format {
	case formatText:
		return plainText(body), nil
	case formatMarkdown:
		content, err := markdown(body)
		if err != nil {
			return "", fmt.Errorf("webscrape: %s: %w: no markdown: %w", p.url.Host, fetcher.ErrMalformed, err)
		}
		return content, nil
	}
	var b strings.Builder
	for n := range body.ChildNodes() {
		if err := html.Render(&b, n); err != nil {
			return "", fmt.Errorf("webscrape: %s: %w: no HTML: %w", p.url.Host, fetcher.ErrMalformed, err)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// mainContent returns the element with the main content, or nil if it finds none.
func mainContent(doc *document, p *page) *html.Node {
	parser := readability.NewParser()
	parser.DisableJSONLD = true // the tree has no scripts
	article, err := parser.ParseDocument(doc.root, p.url)
	if err != nil || article.Node == nil || plainText(article.Node) == "" {
		return nil
	}
	return article.Node
}

// levelKey is the attribute that markHeadings adds. A page cannot set it, because the tree has
// only keptAttributes.
const levelKey = "heading-level"

// markHeadings stores each heading's level in the attribute levelKey, because the search for
// the main content changes headings of level 1 to level 2.
func markHeadings(root *html.Node) {
	for n := range root.Descendants() {
		if groups[n.DataAtom]&heading != 0 {
			n.Attr = append(n.Attr, html.Attribute{Key: levelKey, Val: n.Data})
		}
	}
}

// restoreHeadings restores the heading levels stored by markHeadings.
func restoreHeadings(body *html.Node) {
	for n := range body.Descendants() {
		for i, a := range n.Attr {
			if a.Key == levelKey {
				if groups[n.DataAtom]&heading != 0 {
					n.Data, n.DataAtom = a.Val, atom.Lookup([]byte(a.Val))
				}
				n.Attr = slices.Delete(n.Attr, i, i+1)
				break
			}
		}
	}
}
