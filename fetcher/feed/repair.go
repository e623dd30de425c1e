package feed

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// parseXML parses RSS or Atom. It passes gofeed only the text from the root element on, for two
// reasons. gofeed looks for the root element in the first 4,096 bytes only. And because of the
// XML declaration, gofeed would convert the encoding a second time.
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
	var whole *document
	if !o.tail && !slices.ContainsFunc(o.items, func(s span) bool { return s.deep }) {
		if feed, err := parseFeed(text[o.root:]); err == nil {
			whole = convert(feed, o.items, base)
		}
	}
	if whole != nil && len(whole.entries) >= len(o.items) {
		return whole, nil
	}
	mended := o.mend(text, base)
	switch {
	case mended == nil && whole == nil:
		return nil, malformed("no item can be read")
	case mended == nil || whole != nil && len(whole.entries) >= len(mended.entries):
		return whole, nil
	}
	mended.cut = true
	return mended, nil
}

// containers are the elements that contain items.
var containers = []string{"rss", "rdf", "channel", "feed"}

// mend parses a document that has errors. It parses the part before the first item, and then
// each item separately. It returns nil if it can parse nothing.
func (o *outline) mend(text string, base *url.URL) *document {
	if len(o.items) == 0 && o.tail {
		return nil
	}
	head, before, after := text[o.root:], "", ""
	if len(o.items) > 0 {
		head = text[o.root:o.items[0].start]
	}
	headEnd := ""
	for _, start := range o.open {
		l := lexer{text: start}
		t, ok := l.next()
		if !ok {
			continue
		}
		end := "</" + t.name + ">"
		headEnd = end + headEnd
		if slices.Contains(containers, t.local()) {
			before, after = before+start, end+after
		}
	}
	doc := &document{}
	feed, err := parseFeed(head + headEnd)
	if err == nil {
		doc = convert(feed, nil, base)
	}
	known, budget := err == nil && len(o.items) == 0, 4*len(text)
	for _, s := range o.items[:min(len(o.items), maxEntries)] {
		item := before + text[s.start:s.end] + after
		if budget -= len(item); s.deep || budget < 0 {
			continue
		}
		if feed, err := parseFeed(item); err == nil && len(feed.Items) == 1 {
			doc.entries = append(doc.entries, convert(feed, []span{s}, base).entries...)
		}
	}
	if len(doc.entries) == 0 && !known {
		return nil
	}
	return doc
}

// mendJSON returns a JSON document with only the items that are complete and valid, or "" if
// there are none.
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
