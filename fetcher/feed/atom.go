package feed

import (
	"cmp"
	"encoding/xml"
	"html"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher/internal/htmltext"
)

// atomFeed is a feed in Atom 1.0 (RFC 4287) or 0.3, as an atomReader reads it.
type atomFeed struct {
	Lang    string       `xml:"lang,attr"`
	Title   atomText     `xml:"title"`
	Links   []atomLink   `xml:"link"`
	Authors []atomPerson `xml:"author"`
	Entries []atomEntry  `xml:"entry"`
}

type atomEntry struct {
	Lang       string       `xml:"lang,attr"`
	ID         string       `xml:"id"`
	Title      atomText     `xml:"title"`
	Summary    atomText     `xml:"summary"`
	Content    atomText     `xml:"content"`
	Links      []atomLink   `xml:"link"`
	Authors    []atomPerson `xml:"author"`
	Published  string       `xml:"published"`
	Issued     string       `xml:"issued"` // of Atom 0.3, as is modified
	Updated    string       `xml:"updated"`
	Modified   string       `xml:"modified"`
	Categories []struct {
		Term  string `xml:"term,attr"`
		Label string `xml:"label,attr"`
	} `xml:"category"`
	Media []struct {
		URL    string `xml:"url,attr"`
		Type   string `xml:"type,attr"`
		Medium string `xml:"medium,attr"`
		Size   string `xml:"fileSize,attr"`
	} `xml:"media:content"`
	MediaGroups []atomEntry `xml:"media:group"`
}

type atomLink struct {
	Rel    string `xml:"rel,attr"`
	Href   string `xml:"href,attr"`
	Type   string `xml:"type,attr"`
	Length string `xml:"length,attr"`
}

type atomPerson struct {
	Name  string `xml:"name"`
	Email string `xml:"email"`
}

// parseAtom parses a feed in Atom, whose address is base.
func parseAtom(text string, base *url.URL) (*document, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	var f atomFeed
	if err := xml.NewTokenDecoder(&atomReader{d: d, base: base}).Decode(&f); err != nil {
		return nil, err
	}
	doc := &document{about: about{title: f.Title.line(), link: atomHref(f.Links, "alternate"), language: f.Lang, authors: atomPeople(f.Authors)}}
	for _, l := range f.Links {
		doc.addLink(l.Rel, absolute(nil, l.Href))
	}
	for i := range f.Entries {
		doc.entries = append(doc.entries, f.Entries[i].entry())
	}
	return doc, nil
}

func (x *atomEntry) entry() entry {
	e := entry{
		guid: strings.TrimSpace(x.ID), title: x.Title.line(), language: x.Lang, authors: atomPeople(x.Authors),
		published: readDate(cmp.Or(x.Published, x.Issued)), updated: readDate(cmp.Or(x.Updated, x.Modified)),
	}
	if e.published.at.IsZero() {
		e.published = e.updated
	}
	body := x.Content
	if body.text == "" {
		body = x.Summary
	}
	e.content, e.plain, e.base = body.text, body.plain, body.base
	for _, rel := range []string{"alternate", "related", "via"} {
		if e.link == "" {
			e.link = atomHref(x.Links, rel)
		}
	}
	var categories []string
	for _, c := range x.Categories {
		categories = append(categories, cmp.Or(c.Label, c.Term))
	}
	e.categories = tidy(categories)
	for _, l := range x.Links {
		if relation(l.Rel) == "enclosure" {
			e.enclose(nil, l.Href, l.Type, l.Length)
		}
	}
	for _, in := range append([]atomEntry{*x}, x.MediaGroups...) {
		for _, m := range in.Media {
			e.enclose(nil, m.URL, mediaKind(m.Type, m.Medium), m.Size)
		}
	}
	return e
}

// atomHref returns the first link to a web page with a relation, or the first with it, "" for
// none.
func atomHref(links []atomLink, rel string) (first string) {
	for _, l := range links {
		href := absolute(nil, l.Href)
		if href == "" || relation(l.Rel) != rel {
			continue
		}
		switch kind, _, _ := strings.Cut(strings.ToLower(l.Type), ";"); strings.TrimSpace(kind) {
		case "", "text/html", "application/xhtml+xml":
			return href
		}
		first = cmp.Or(first, href)
	}
	return first
}

func atomPeople(list []atomPerson) (out []person) {
	for _, p := range list {
		if p = (atomPerson{strings.TrimSpace(p.Name), strings.TrimSpace(p.Email)}); p != (atomPerson{}) {
			out = append(out, person{p.Name, p.Email})
		}
	}
	return out
}

// atomText is a text construct or a content of Atom (RFC 4287, sections 3.1 and 4.1.3).
type atomText struct {
	text  string // HTML, unless plain
	plain bool
	base  *url.URL
}

// UnmarshalXML reads a text of any type. Elements in it count as markup, also in a text that may
// have none. A prefix does not change what an element is, and elements end where XML ends them.
func (a *atomText) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	kind := strings.ToLower(strings.TrimSpace(attr(start, "type")))
	escaped := kind == "html" || kind == "text/html"
	binary := kind != "" && !escaped && !strings.HasPrefix(kind, "text") && !strings.Contains(kind, "xhtml") && !strings.Contains(kind, "xml")
	base, _ := url.Parse(attr(start, "base")) // which an atomReader wrote
	var text, markup strings.Builder
	for depth, elements := 0, false; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
			if escaped {
				markup.Write(t)
			} else {
				markup.WriteString(html.EscapeString(string(t)))
			}
		case xml.StartElement:
			depth, elements = depth+1, true
			markup.WriteString("<" + htmlName(t.Name))
			for _, key := range []string{"href", "class", "rel"} {
				if value := attr(t, key); value != "" {
					markup.WriteString(" " + key + `="` + html.EscapeString(value) + `"`)
				}
			}
			markup.WriteString(">")
		case xml.EndElement:
			if depth--; depth < 0 {
				*a = atomText{text: strings.TrimSpace(markup.String()), base: base}
				switch {
				case binary:
					*a = atomText{}
				case !escaped && !elements:
					*a = atomText{text: strings.TrimSpace(text.String()), plain: true}
				}
				return nil
			}
			if name := htmlName(t.Name); name != "br" {
				markup.WriteString("</" + name + ">")
			}
		}
	}
}

// line returns a text on one line.
func (a *atomText) line() string {
	if a.plain {
		return oneLine(a.text)
	}
	return oneLine(htmltext.Parse(a.text).Text)
}

// htmlName returns the name of an element in HTML. There, nothing ends a <plaintext>.
func htmlName(n xml.Name) string {
	name := strings.ToLower(n.Local[strings.LastIndexByte(n.Local, ':')+1:])
	if name == "plaintext" {
		name = "pre"
	}
	return name
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// atomReader reads a document with all references in attributes made absolute. Each element has
// its base as the attribute base, and a name without a namespace: in lower case if it is
// Atom's, otherwise with the namespace or a prefix before it.
type atomReader struct {
	d    *xml.Decoder
	base *url.URL // the document's address
	open []atomElement
}

type atomElement struct {
	name xml.Name
	base *url.URL
}

// namespaces are names for the namespaces that are read. Elements without one count as Atom's,
// and a prefix that is not declared as its usual namespace.
var namespaces = map[string]string{
	"": "", "atom": "", "http://www.w3.org/2005/Atom": "", "http://purl.org/atom/ns#": "",
	"http://search.yahoo.com/mrss": "media:", "http://search.yahoo.com/mrss/": "media:",
}

// Token implements xml.TokenReader.
func (r *atomReader) Token() (xml.Token, error) {
	t, err := r.d.Token()
	switch t := t.(type) {
	case xml.StartElement:
		base := r.base
		if n := len(r.open); n > 0 {
			base = r.open[n-1].base
		}
		for _, a := range t.Attr {
			if a.Name.Space == xmlNamespace && a.Name.Local == "base" {
				base = rebase(base, a.Value)
			}
		}
		name := atomName(t.Name)
		r.open = append(r.open, atomElement{name, base})
		attrs := []xml.Attr{{Name: xml.Name{Local: "base"}, Value: base.String()}}
		for _, a := range t.Attr {
			switch {
			case a.Name.Space == xmlNamespace && a.Name.Local == "lang":
			case a.Name.Space != "" || a.Name.Local == "xmlns" || a.Name.Local == "base":
				continue
			case a.Name.Local == "href" || a.Name.Local == "url":
				a.Value = absolute(base, a.Value)
			}
			attrs = append(attrs, xml.Attr{Name: xml.Name{Local: a.Name.Local}, Value: a.Value})
		}
		return xml.StartElement{Name: name, Attr: attrs}, err
	case xml.EndElement: // of the last open element; its own name may be another's
		n := len(r.open) - 1
		name := r.open[n].name
		r.open = r.open[:n]
		return xml.EndElement{Name: name}, err
	default:
		return t, err
	}
}

const xmlNamespace = "http://www.w3.org/XML/1998/namespace"

func atomName(n xml.Name) xml.Name {
	prefix, known := namespaces[strings.TrimSpace(n.Space)]
	switch {
	case !known:
		prefix = n.Space + ":"
	case prefix == "":
		n.Local = strings.ToLower(n.Local)
	}
	return xml.Name{Local: prefix + n.Local}
}

// rebase returns the base that a reference in xml:base gives within a base (XML Base, section 4).
func rebase(base *url.URL, ref string) *url.URL {
	if u := resolve(base, ref); u != nil {
		return u
	}
	return base
}
