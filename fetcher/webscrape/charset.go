package webscrape

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// text returns a page's text in UTF-8.
func (p *page) text() string {
	body := p.body
	e, name, certain := charset.DetermineEncoding(body, p.contentType)
	if !certain {
		e, name = p.declared()
	}
	// windows-1252 is often wrong: it may be a guess from the first 1,024 bytes, or named by
	// mistake in a page in UTF-8.
	if name != "utf-8" && (certain || name != "windows-1252" || !utf8.Valid(body)) {
		if text, err := e.NewDecoder().Bytes(body); err == nil { // decoders replace invalid bytes; none is known to fail
			body = text
		}
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(body), "\ufffd"), "\ufeff")
}

// scanned is the number of bytes that charset.DetermineEncoding looks at.
const scanned = 1024

// xmlEncoding matches an XML declaration that names an encoding.
var xmlEncoding = regexp.MustCompile(`^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'<>\s]+)["']`)

// declared returns the encoding that a page names: in a meta element, wherever it is (HTML
// standard, section 13.2.3.5), else in an XML declaration, which counts first in XHTML. For a page
// that names none it guesses.
func (p *page) declared() (encoding.Encoding, string) {
	head := p.body[:min(len(p.body), scanned)]
	for name, start := range map[string]string{"utf-16le": "<\x00?\x00x\x00", "utf-16be": "\x00<\x00?\x00x"} {
		if bytes.HasPrefix(head, []byte(start)) {
			return charset.Lookup(name)
		}
	}
	// A Content-Type with broken parameters, and the declaration, are read as meta elements are.
	found := []byte(`<meta http-equiv=content-type content="` + html.EscapeString(cut(p.contentType, 100)) + `">`)
	switch declaration := xmlEncoding.FindSubmatch(head); {
	case declaration == nil:
		found = append(found, p.metas()...)
	case p.kind() == "application/xhtml+xml":
		found = fmt.Appendf(found, "<meta charset='%s'>%s", declaration[1], p.metas())
	default:
		found = fmt.Appendf(found, "%s<meta charset='%s'>", p.metas(), declaration[1])
	}
	e, name, _ := charset.DetermineEncoding(append(found, head...), "")
	if name == "x-user-defined" {
		return charset.Lookup("windows-1252")
	}
	return e, name
}

// metas returns the meta elements of a page that name a charset, up to about half of what is
// scanned.
func (p *page) metas() (found []byte) {
	if kind := p.kind(); kind != "text/html" && kind != "application/xhtml+xml" {
		return nil
	}
	for z := html.NewTokenizer(bytes.NewReader(p.body)); len(found) < scanned/2; {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := z.Raw()
			if name, _ := z.TagName(); string(name) == "meta" && len(raw) < scanned/2 && bytes.Contains(bytes.ToLower(raw), []byte("charset")) {
				found = append(found, raw...)
			}
		}
	}
	return found
}
