package webscrape

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/streamwatch/streamwatch/fetcher"
)

// growth bounds what is made of a page: times Config.MaxBody.
const growth = 4

// convert gives a page's title and its content in a format.
func (s *Scraper) convert(ctx context.Context, p *page, format string) (title, content string, err error) {
	text := decode(p.body, p.contentType)
	limit := growth * int(s.cfg.MaxBody)
	switch kind := p.kind(); kind {
	case "text/html", "application/xhtml+xml":
		doc, err := parse(text, p.url, limit)
		if err != nil {
			return "", "", fmt.Errorf("webscrape: %s: %w: %w", p.url.Host, fetcher.ErrMalformed, err)
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
		return "", "", fmt.Errorf("webscrape: %s: %w: content type %q is not a page", p.url.Host, fetcher.ErrMalformed, cut(kind, 100))
	}
	if len(content) > limit {
		return "", "", fmt.Errorf("webscrape: %s: %w: content over %d bytes", p.url.Host, fetcher.ErrMalformed, limit)
	}
	return title, content, nil
}

// render writes a document in a format. The steps can not be interrupted, so
// the context is asked between them.
func (s *Scraper) render(ctx context.Context, p *page, doc *document, format string) (string, error) {
	body := doc.body
	if s.cfg.MainContent {
		if main := mainContent(doc, p); main != nil {
			body = main
		}
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

// mainContent is nil where none was found.
func mainContent(doc *document, p *page) *html.Node {
	parser := readability.NewParser()
	parser.DisableJSONLD = true // scripts are gone
	article, err := parser.ParseDocument(doc.root, p.url)
	if err != nil || article.Node == nil || plainText(article.Node) == "" {
		return nil
	}
	return article.Node
}

// decode gives a page's text in UTF-8.
func decode(body []byte, contentType string) string {
	e, name, certain := charset.DetermineEncoding(body, contentType)
	// The guess is made from the first 1,024 bytes alone.
	if name == "utf-8" || !certain && utf8.Valid(body) {
		return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\ufffd"), "\ufeff")
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil { // decoders replace what they can not read; none is known to fail
		text = body
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(text), "\ufffd"), "\ufeff")
}
