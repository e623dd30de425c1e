package webscrape

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// group says how the tree builder treats an element. The builder leaves out an element without
// a group, but keeps its content.
type group uint16

const (
	inline  group = 1 << iota
	block         // ends an open paragraph
	void          // has no content
	nesting       // a list or quotation: each level indents its content
	tabular       // the parts of a table
	heading
	dropped // left out with its content
	foreign // dropped; as in browsers, the start of a block ends it
	hasURL  // has a link to resolve
)

var groups = make(map[atom.Atom]group)

func init() {
	for _, set := range []struct {
		group group
		names []atom.Atom
	}{
		{inline, []atom.Atom{atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Cite, atom.Code, atom.Dfn, atom.Em, atom.I,
			atom.Kbd, atom.Mark, atom.S, atom.Samp, atom.Small, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time,
			atom.Tt, atom.U, atom.Var}},
		{inline | hasURL, []atom.Atom{atom.A, atom.Del, atom.Ins, atom.Q}},
		{inline | void, []atom.Atom{atom.Br, atom.Wbr}},
		{inline | void | hasURL, []atom.Atom{atom.Img}},
		{block, []atom.Atom{atom.Address, atom.Article, atom.Aside, atom.Center, atom.Details, atom.Dialog, atom.Div,
			atom.Dl, atom.Dt, atom.Dd, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.Header,
			atom.Hgroup, atom.Legend, atom.Li, atom.Listing, atom.Main, atom.Nav, atom.P, atom.Pre, atom.Search,
			atom.Section, atom.Summary}},
		{block | nesting, []atom.Atom{atom.Dir, atom.Menu, atom.Ol, atom.Ul}},
		{block | nesting | hasURL, []atom.Atom{atom.Blockquote}},
		{block | heading, []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}},
		{block | void, []atom.Atom{atom.Hr}},
		{block | tabular, []atom.Atom{atom.Table}},
		{tabular, []atom.Atom{atom.Caption, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr}},
		{dropped, []atom.Atom{atom.Applet, atom.Audio, atom.Canvas, atom.Datalist, atom.Iframe, atom.Map, atom.Noembed,
			atom.Noframes, atom.Noscript, atom.Object, atom.Plaintext, atom.Script, atom.Select, atom.Style, atom.Template,
			atom.Textarea, atom.Video, atom.Xmp}},
		{dropped | foreign, []atom.Atom{atom.Math, atom.Svg}},
	} {
		for _, a := range set.names {
			groups[a] = set.group
		}
	}
}

// plain maps elements to the elements that replace them in the result. Without scripts and form
// fields, they are plain blocks or lists.
var plain = map[atom.Atom]atom.Atom{
	atom.Center: atom.Div, atom.Dialog: atom.Div, atom.Fieldset: atom.Div, atom.Form: atom.Div, atom.Legend: atom.Div,
	atom.Listing: atom.Div, atom.Search: atom.Div, atom.Dir: atom.Ul, atom.Menu: atom.Ul,
}

// keptAttributes are the attributes of the result, except links.
var keptAttributes = map[string]bool{
	"alt": true, "class": true, "colspan": true, "datetime": true, "dir": true, "height": true, "id": true,
	"itemprop": true, "lang": true, "rel": true, "reversed": true, "role": true, "rowspan": true, "scope": true,
	"start": true, "title": true, "width": true,
}

// attribute returns the value of the first attribute with that name, as browsers do. It returns
// "" if there is none.
func attribute(t *html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
