package feed

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// parseXML parses RSS or Atom. It passes the parser only the text from the root element on,
// because gofeed would convert the encoding of the XML declaration a second time.
func parseXML(text string, base *url.URL) (*document, error) {
	o := outlineOf(text)
	if o.mended != "" && !o.large {
		text = o.mended
		o = outlineOf(text)
	}
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
		whole, _ = o.read(text[o.root:], o.items, base)
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
	mended.cut, mended.lost = true, min(len(o.items), maxEntries)-len(mended.entries)
	return mended, nil
}

// read parses a document, or a part of one, of the outline's format.
func (o *outline) read(text string, items []span, base *url.URL) (*document, error) {
	if o.name == "feed" {
		return parseAtom(text, base)
	}
	for _, start := range o.open {
		base = rebase(base, attribute(start, "xml:base"))
	}
	return parseRSS(text, items, base)
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
	doc, err := o.read(head+headEnd, nil, base)
	if err != nil {
		doc = &document{}
	}
	known, budget := err == nil && len(o.items) == 0, 4*len(text)
	for _, s := range o.items[:min(len(o.items), maxEntries)] {
		item := before + text[s.start:s.end] + after
		if budget -= len(item); s.deep || budget < 0 {
			continue
		}
		if one, err := o.read(item, []span{s}, base); err == nil && len(one.entries) == 1 {
			doc.entries = append(doc.entries, one.entries...)
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
	list := strings.TrimLeft(text[i+len(`"items"`):], ": \t\r\n")
	if list == "" || list[0] != '[' && list[0] != '{' {
		return ""
	}
	open := len(text) - len(list) + 1
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
