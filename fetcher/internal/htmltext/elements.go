package htmltext

import "golang.org/x/net/html/atom"

// role says how a browser shows an element, and its content, within a text (HTML standard,
// section 15.3).
type role uint8

const (
	unknown  role = iota
	run           // as a part of the line
	box           // apart from the words around it
	cell          // in a column of its own
	line          // on lines of its own
	block         // between blank lines
	unshown       // not, with its content
	replaced      // as something that is no text, in place of its content
)

var roles = make(map[atom.Atom]role)

func init() {
	for r, names := range map[role][]atom.Atom{
		run: {atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
			atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Nobr, atom.Q,
			atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub,
			atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr},
		box:  {atom.Button, atom.Embed, atom.Img, atom.Input, atom.Marquee, atom.Meter, atom.Progress, atom.Select},
		cell: {atom.Td, atom.Th},
		line: {atom.Br, atom.Caption, atom.Dd, atom.Dt, atom.Figcaption, atom.Li, atom.Optgroup, atom.Option, atom.Summary,
			atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr},
		block: {atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Center, atom.Details, atom.Dialog,
			atom.Dir, atom.Div, atom.Dl, atom.Fieldset, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3,
			atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Html, atom.Legend, atom.Listing, atom.Main,
			atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Plaintext, atom.Pre, atom.Search, atom.Section, atom.Table,
			atom.Ul, atom.Xmp},
		unshown: {atom.Annotation, atom.AnnotationXml, atom.Datalist, atom.Noembed, atom.Noframes, atom.Noscript, atom.Script, atom.Style, atom.Template, atom.Title},
		replaced: {atom.Applet, atom.Audio, atom.Canvas, atom.Iframe, atom.Object, atom.Svg, atom.Textarea,
			atom.Video},
	} {
		for _, a := range names {
			roles[a] = r
		}
	}
}

// IsElement reports whether a name in lower case is one of an HTML element, and whether its
// content is shown as text.
func IsElement(name string) (known, shown bool) {
	r := roles[atom.Lookup([]byte(name))]
	return r != unknown, r < unshown
}

func isHidden(a atom.Atom) bool { return roles[a] >= unshown }

// isForeign reports whether an element has XML's rules: a slash ends it, and no other element in
// it has a text of its own. As in browsers, the start of a block ends it.
func isForeign(a atom.Atom) bool {
	return a == atom.Svg || a == atom.Annotation || a == atom.AnnotationXml
}

// isPre reports whether white space counts in an element.
func isPre(a atom.Atom) bool {
	return a == atom.Pre || a == atom.Listing || a == atom.Xmp || a == atom.Plaintext
}
