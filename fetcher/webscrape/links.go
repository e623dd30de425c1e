package webscrape

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// rebase follows the first base element.
func (b *builder) rebase(href string) {
	if b.based || href == "" || len(href) > maxURL {
		return
	}
	if u, err := url.Parse(strings.TrimSpace(href)); err == nil {
		u = b.base.ResolveReference(u)
		if u.Scheme == "http" || u.Scheme == "https" {
			b.base, b.based = u, true
		}
	}
}

// resolve makes a link absolute. It returns "" for a link to leave out: a script, data, an
// invalid URL, or a URL longer than 4 KiB.
func (b *builder) resolve(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxAttribute {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	switch u = b.base.ResolveReference(u); u.Scheme {
	case "http", "https", "mailto", "tel":
		return u.String()
	}
	return ""
}

// attributes returns the attributes of a tag to keep, without duplicate names.
func (b *builder) attributes(t *html.Token, g group) []html.Attribute {
	var out []html.Attribute
	add := func(key, value string) {
		for _, a := range out {
			if a.Key == key {
				return
			}
		}
		out = append(out, html.Attribute{Key: key, Val: value})
		b.budget -= len(value)
	}
	for _, a := range t.Attr {
		switch {
		case len(a.Val) > maxAttribute:
		case keptAttributes[a.Key]:
			add(a.Key, strings.ToValidUTF8(a.Val, "\ufffd"))
		case g&hasURL == 0:
		case a.Key == "href" && t.DataAtom == atom.A, a.Key == "src" && t.DataAtom == atom.Img, a.Key == "cite" && t.DataAtom != atom.A && t.DataAtom != atom.Img:
			if link := b.resolve(a.Val); link != "" {
				add(a.Key, link)
			}
		}
	}
	if t.DataAtom == atom.Img { // images that a script would load later
		if link := b.resolve(attribute(t, "data-src")); link != "" {
			add("src", link)
		}
	}
	return out
}

// hasLink reports whether a link or image has an address.
func hasLink(attrs []html.Attribute) bool {
	return slices.ContainsFunc(attrs, func(a html.Attribute) bool { return a.Key == "href" || a.Key == "src" })
}
