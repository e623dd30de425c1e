package feed

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
)

// parseXML reads RSS or Atom. It begins with the root: gofeed looks for that in the first
// 4,096 bytes, and would transcode once more by the declaration.
func parseXML(text string, base *url.URL) (*document, error) {
	o := outlineOf(text)
	switch {
	case o.root < 0 || o.name != "rss" && o.name != "rdf" && o.name != "feed":
		return nil, notFeed(text, o.name, base)
	case o.deep:
		return nil, malformed("elements are nested deeper than %d", maxDepth)
	case o.large:
		return nil, malformed("more than %d items, or %d elements and attributes", maxItems, maxMarks)
	}
	deep := slices.ContainsFunc(o.items, func(s span) bool { return s.deep })
	var feed *gofeed.Feed
	var err error
	if !deep && !o.tail {
		feed, err = parseFeed(text[o.root:])
		if err == nil && len(feed.Items) >= len(o.items) {
			return convert(feed, o.items, base), nil
		}
	}
	m := mender{text: text, outline: o, budget: 4 * len(text)}
	mended, items := m.mend(base)
	if mended == nil || err == nil && feed != nil && len(feed.Items) >= items {
		if feed == nil || err != nil {
			return nil, malformed("no item can be read")
		}
		return convert(feed, o.items, base), nil
	}
	mended.cut = true
	return mended, nil
}

// mender reads the items of a document that cannot be read as a whole.
type mender struct {
	text string
	outline
	budget int // bytes that may still be parsed
}

// mend reads what is before the first item with the items, and if that does not do, the
// items in halves, until the broken ones are alone.
func (m *mender) mend(base *url.URL) (doc *document, read int) {
	items := slices.DeleteFunc(slices.Clone(m.items), func(s span) bool { return s.deep })
	if len(items) > maxEntries {
		items = items[:maxEntries]
	}
	head := m.text[m.root:]
	if len(m.items) > 0 {
		head = m.text[m.root:m.items[0].start]
	}
	if len(items) == 0 && (m.tail || len(m.items) > 0) {
		return nil, 0
	}
	if feed := m.parse(head, m.open, items); feed != nil {
		return convert(feed, items, base), len(items)
	}
	m.open = slices.DeleteFunc(slices.Clone(m.open), func(start string) bool {
		l := lexer{text: start}
		t, ok := l.next()
		return !ok || !slices.Contains([]string{"rss", "rdf", "channel", "feed"}, t.local())
	})
	m.halve(items, func(feed *gofeed.Feed, part []span) {
		d := convert(feed, part, base)
		if doc == nil {
			doc = d
		} else {
			doc.entries = append(doc.entries, d.entries...)
		}
		read += len(part)
	})
	return doc, read
}

// parse reads some items behind a head that has open elements; nil if that is not
// possible.
func (m *mender) parse(head string, open []string, items []span) *gofeed.Feed {
	var b strings.Builder
	b.WriteString(head)
	for _, s := range items {
		b.WriteString(m.text[s.start:s.end])
	}
	for _, start := range slices.Backward(open) {
		l := lexer{text: start}
		if t, ok := l.next(); ok {
			b.WriteString("</" + t.name + ">")
		}
	}
	if m.budget -= b.Len(); m.budget < 0 {
		return nil
	}
	feed, err := parseFeed(b.String())
	if err != nil || len(feed.Items) != len(items) {
		return nil
	}
	return feed
}

func (m *mender) halve(items []span, add func(*gofeed.Feed, []span)) {
	if len(items) == 0 || m.budget <= 0 {
		return
	}
	if feed := m.parse(strings.Join(m.open, ""), m.open, items); feed != nil {
		add(feed, items)
		return
	}
	if len(items) > 1 {
		m.halve(items[:len(items)/2], add)
		m.halve(items[len(items)/2:], add)
	}
}

// mendJSON keeps the items of a document that are whole and valid; "" if it has none.
func mendJSON(text string) string {
	i := strings.Index(text, `"items"`)
	if i < 0 {
		return ""
	}
	n := strings.IndexByte(text[i:], '[')
	if n < 0 {
		return ""
	}
	open := i + n + 1
	var items []string
	start, depth, inString := open, 0, false
	for j := open; j < len(text) && depth >= 0; j++ {
		switch c := text[j]; {
		case inString && c == '\\':
			j++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth == 1 {
				start = j
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 && json.Valid([]byte(text[start:j+1])) {
				items = append(items, text[start:j+1])
			}
		}
	}
	if len(items) == 0 {
		return ""
	}
	whole := strings.Join(items, ",") + "]}"
	if mended := text[:open] + whole; json.Valid([]byte(mended)) {
		return mended
	}
	return `{"items":[` + whole
}
