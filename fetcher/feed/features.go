package feed

import (
	"net/url"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// features are what tells an entry from others, as hashes. 0 is none.
type features struct {
	guids []uint64
	link  uint64
	text  uint64 // of title and content
	date  int64  // Unix seconds, 0 for none
	day   bool   // date tells the day alone
}

// featuresOf takes an entry's features. A link to the site itself is none.
func featuresOf(e *entry, site string) features {
	f := features{text: hash("t", e.title, e.body())}
	for _, g := range e.guids {
		f.guids = append(f.guids, hash("g", g))
	}
	if link := plainLink(e.link); link != "" && link != site {
		f.link = hash("l", link)
	}
	if !e.published.at.IsZero() {
		f.date, f.day = e.published.at.Unix(), e.published.day
	}
	return f
}

// body is what an entry says, less its title.
func (e *entry) body() string {
	if e.content != "" {
		return e.content
	}
	return e.summary
}

// hash never is 0.
func hash(parts ...string) uint64 {
	h := xxh3.HashSeed(nil, uint64(len(parts)))
	for _, p := range parts {
		h = xxh3.HashStringSeed(p, h)
	}
	return max(h, 1)
}

// plainLink is a link as it is compared: without its scheme, which sites change from http
// to https, and without the parameters that count visitors.
func plainLink(link string) string {
	_, rest, ok := strings.Cut(link, "://")
	if !ok {
		return ""
	}
	path, query, ok := strings.Cut(rest, "?")
	if !ok {
		return rest
	}
	query, fragment, _ := strings.Cut(query, "#")
	params := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool { return strings.HasPrefix(p, "utm_") || p == "" })
	if len(params) > 0 {
		path += "?" + strings.Join(params, "&")
	}
	if fragment != "" {
		path += "#" + fragment
	}
	return path
}

// siteOf is the site's link, as entries' links are compared with it.
func siteOf(d *document, feed *url.URL) string {
	if link := plainLink(d.about.link); link != "" {
		return link
	}
	return feed.Host + "/"
}

func (a *features) sameGUID(b *features) bool {
	return slices.ContainsFunc(a.guids, func(g uint64) bool { return slices.Contains(b.guids, g) })
}

func (a *features) sameLink(b *features) bool { return a.link != 0 && a.link == b.link }
func (a *features) sameText(b *features) bool { return a.text == b.text }

// sameTime reports whether both were published at the same second.
func (a *features) sameTime(b *features) bool {
	return a.date != 0 && a.date == b.date && !a.day && !b.day
}

// sameDate reports whether the dates agree: both the same, or none.
func (a *features) sameDate(b *features) bool { return a.date == b.date }

func (a *features) bothGUID(b *features) bool { return len(a.guids) > 0 && len(b.guids) > 0 }

// repeats reports whether two items of one document are the same entry.
func (a *features) repeats(b *features) bool {
	link := a.sameLink(b) || a.link == 0 && b.link == 0
	switch {
	case a.sameGUID(b) && link:
		return a.sameText(b) || a.sameTime(b)
	case a.sameGUID(b):
		return a.sameText(b) && a.sameDate(b)
	case a.bothGUID(b):
		return a.sameLink(b) && a.sameText(b) && a.sameTime(b)
	case a.sameLink(b):
		return a.sameText(b) || a.sameTime(b)
	}
	return link && a.sameText(b) && a.sameDate(b)
}
