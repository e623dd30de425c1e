package webscrape

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxElements  = 100_000
	maxDepth     = 64 // of nested elements; of deeper elements only the content is kept
	maxNesting   = 8  // lists and quotations within each other, likewise
	maxTables    = 3  // tables within each other, likewise
	maxAttribute = 4096
)

var errTooLarge = errors.New("too many elements or too much text")

// document has the tree and the title of a page.
type document struct {
	root  *html.Node // html with a body
	body  *html.Node
	title string
}

// builder builds a tree from the tokens of a page. Unlike html.Parse, it needs limited time and
// memory for each token, because it closes elements by a few simple rules and never reopens one.
type builder struct {
	base   *url.URL
	based  bool // base is that of a base element
	stack  []*html.Node
	text   strings.Builder // until the next element
	budget int             // bytes left for text and attributes
	nodes  int
	depth  map[atom.Atom]int // open elements by name
	nested int               // open elements of the group nesting
	unseen map[atom.Atom]int // number of start tags left out because they were too deep

	skip      atom.Atom // the open element whose content is dropped; 0 for none
	skipDepth int       // how many of that name are open

	title, ogTitle string
}

// parse builds the tree of a page in UTF-8. limit is the largest number of bytes of text and
// attributes in the tree.
func parse(text string, at *url.URL, limit int) (*document, error) {
	body := &html.Node{Type: html.ElementNode, DataAtom: atom.Body, Data: "body"}
	top := &html.Node{Type: html.ElementNode, DataAtom: atom.Html, Data: "html"}
	root := &html.Node{Type: html.DocumentNode}
	root.AppendChild(top)
	top.AppendChild(body)
	b := &builder{base: at, stack: []*html.Node{body}, budget: limit, depth: make(map[atom.Atom]int), unseen: make(map[atom.Atom]int)}
	z := html.NewTokenizer(strings.NewReader(text))
	for b.budget >= 0 && b.nodes <= maxElements {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			b.flush()
			if b.budget < 0 {
				return nil, errTooLarge
			}
			title := b.title
			if title == "" {
				title = b.ogTitle
			}
			for n := range body.Descendants() {
				if a, ok := plain[n.DataAtom]; ok {
					n.DataAtom, n.Data = a, a.String()
				}
			}
			return &document{root: root, body: body, title: cut(strings.Join(strings.Fields(title), " "), 1000)}, nil
		case html.TextToken:
			if b.skip == 0 {
				b.text.Write(z.Text())
			} else if b.skip == atom.Title && b.title == "" {
				b.title = string(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(z.Token())
		case html.EndTagToken:
			name, _ := z.TagName()
			b.end(atom.Lookup(name))
		}
	}
	return nil, errTooLarge
}

func (b *builder) top() *html.Node { return b.stack[len(b.stack)-1] }

// flush adds the text read so far to the tree. Text directly inside a table is not allowed, so
// flush puts it into a new cell. White space there is dropped.
func (b *builder) flush() {
	if b.text.Len() == 0 {
		return
	}
	text := strings.ToValidUTF8(b.text.String(), "\ufffd")
	b.text.Reset()
	if isTablePart(b.top().DataAtom) {
		if strings.TrimSpace(text) == "" {
			return
		}
		b.openCell()
	}
	b.budget -= len(text)
	b.top().AppendChild(&html.Node{Type: html.TextNode, Data: text})
}

// isTablePart reports whether an element may contain only other parts of a table.
func isTablePart(a atom.Atom) bool {
	switch a {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
		return true
	}
	return false
}

func (b *builder) openCell() {
	if b.top().DataAtom != atom.Tr {
		b.push(atom.Tr, nil)
	}
	b.push(atom.Td, nil)
}

func (b *builder) push(a atom.Atom, attrs []html.Attribute) {
	n := &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String(), Attr: attrs}
	b.nodes++
	b.top().AppendChild(n)
	if groups[a]&void != 0 {
		return
	}
	b.stack = append(b.stack, n)
	b.depth[a]++
	if groups[a]&nesting != 0 {
		b.nested++
	}
}

// closeFrom closes the elements of the stack from i on.
func (b *builder) closeFrom(i int) {
	for _, n := range b.stack[i:] {
		b.depth[n.DataAtom]--
		if groups[n.DataAtom]&nesting != 0 {
			b.nested--
		}
	}
	b.stack = b.stack[:i]
}

// find returns the index in the stack of the innermost open element in names. It looks only
// inside the innermost open element in boundary, and returns 0 if it finds none.
func (b *builder) find(names, boundary []atom.Atom) int {
	for i := len(b.stack) - 1; i > 0; i-- {
		a := b.stack[i].DataAtom
		if slices.Contains(names, a) {
			return i
		}
		if slices.Contains(boundary, a) {
			return 0
		}
	}
	return 0
}

// closeOpen closes the innermost open element in names, if that is inside the innermost open
// element in boundary.
func (b *builder) closeOpen(names, boundary []atom.Atom) {
	if i := b.find(names, boundary); i > 0 {
		b.closeFrom(i)
	}
}

var (
	cells    = []atom.Atom{atom.Td, atom.Th, atom.Caption}
	rows     = append([]atom.Atom{atom.Tr}, cells...)
	sections = append([]atom.Atom{atom.Thead, atom.Tbody, atom.Tfoot}, rows...)
	inTable  = append([]atom.Atom{atom.Table}, cells...)
	lists    = append([]atom.Atom{atom.Ul, atom.Ol, atom.Menu, atom.Dir, atom.Dl, atom.Blockquote, atom.Section, atom.Article}, inTable...)
)

// start handles a start tag.
func (b *builder) start(t html.Token) {
	g, known := groups[t.DataAtom]
	if b.skip != 0 {
		switch {
		case t.DataAtom == b.skip && t.Type == html.StartTagToken:
			b.skipDepth++
			return
		case groups[b.skip]&foreign == 0 || g&block == 0:
			return
		}
		b.skip = 0
	}
	switch {
	case t.DataAtom == atom.Title || g&dropped != 0:
		// A slash at the end of a start tag ends a foreign element. For other elements it means
		// nothing.
		if t.Type == html.StartTagToken || g&foreign == 0 {
			b.skip, b.skipDepth = t.DataAtom, 1
		}
		return
	case t.DataAtom == atom.Base:
		b.rebase(attribute(&t, "href"))
		return
	case t.DataAtom == atom.Meta:
		if b.ogTitle == "" && attribute(&t, "property") == "og:title" {
			b.ogTitle = attribute(&t, "content")
		}
		return
	case !known, t.DataAtom == atom.Form && isTablePart(b.top().DataAtom): // as in browsers, a form around rows or cells is left out
		return
	}
	b.flush()
	b.makeRoom(t.DataAtom, g)
	if b.tooDeep(t.DataAtom, g) {
		b.unseen[t.DataAtom]++
		return
	}
	if g&tabular != 0 && t.DataAtom != atom.Table && b.depth[atom.Table] == 0 {
		return // a part of no table is transparent
	}
	if (g&tabular == 0 || t.DataAtom == atom.Table) && isTablePart(b.top().DataAtom) {
		b.openCell()
	}
	if (t.DataAtom == atom.Td || t.DataAtom == atom.Th) && b.top().DataAtom != atom.Tr {
		b.push(atom.Tr, nil)
	}
	attrs := b.attributes(&t, g)
	if (t.DataAtom == atom.A || t.DataAtom == atom.Img) && !hasLink(attrs) {
		return
	}
	b.push(t.DataAtom, attrs)
}

// tooDeep reports whether to leave out an element because it is nested too deep, or because it
// is part of a table that was left out.
func (b *builder) tooDeep(a atom.Atom, g group) bool {
	if g&void != 0 {
		return false
	}
	return len(b.stack) > maxDepth || g&nesting != 0 && b.nested >= maxNesting ||
		a == atom.Table && b.depth[a] >= maxTables || g&tabular != 0 && b.unseen[atom.Table] > 0
}

// makeRoom closes the open elements that end where an element a starts.
func (b *builder) makeRoom(a atom.Atom, g group) {
	if g&block != 0 && b.depth[atom.P] > 0 {
		b.closeOpen([]atom.Atom{atom.P}, inTable)
	}
	switch a {
	case atom.Li:
		b.closeOpen([]atom.Atom{atom.Li}, lists)
	case atom.Dt, atom.Dd:
		b.closeOpen([]atom.Atom{atom.Dt, atom.Dd}, lists)
	case atom.A:
		b.closeOpen([]atom.Atom{atom.A}, inTable)
	case atom.Table:
		if isTablePart(b.top().DataAtom) {
			b.closeOpen([]atom.Atom{atom.Table}, cells)
		}
	case atom.Td, atom.Th:
		b.closeOpen(cells, []atom.Atom{atom.Table})
	case atom.Tr:
		b.closeAll(rows)
	case atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption:
		b.closeAll(sections)
	}
	if g&heading != 0 && groups[b.top().DataAtom]&heading != 0 {
		b.closeFrom(len(b.stack) - 1)
	}
}

// closeAll closes every open element in names inside the innermost table.
func (b *builder) closeAll(names []atom.Atom) {
	for i := b.find([]atom.Atom{atom.Table}, nil) + 1; i > 1 && i < len(b.stack); i++ {
		if slices.Contains(names, b.stack[i].DataAtom) {
			b.closeFrom(i)
			return
		}
	}
}

// end handles an end tag.
func (b *builder) end(a atom.Atom) {
	if b.skip != 0 {
		if a == b.skip {
			if b.skipDepth--; b.skipDepth == 0 {
				b.skip = 0
			}
		}
		return
	}
	g := groups[a]
	if g == 0 || g&(dropped|void) != 0 {
		return
	}
	b.flush()
	if b.unseen[a] > 0 {
		b.unseen[a]--
		return
	}
	switch {
	case g&heading != 0:
		b.closeOpen([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}, inTable)
	case b.depth[a] == 0:
	case a == atom.Table:
		b.closeOpen([]atom.Atom{a}, nil)
	case g&tabular != 0:
		b.closeOpen([]atom.Atom{a}, []atom.Atom{atom.Table})
	default:
		b.closeOpen([]atom.Atom{a}, inTable)
	}
}
