package webscrape

import (
	"strconv"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxCells = 20_000 // of a page's tables together, empty ones that fill up rows included
	maxSpan  = 100    // rows or columns of a cell
)

// markdown converts a tree, which it changes. A converter is made for each
// page: it holds state while it works.
func markdown(body *html.Node) (string, error) {
	left := maxCells
	flattenTables(body, &left)
	tidy(body)
	new(escaper).children(body, place{})
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		// Cells are not padded to the width of their column: one wide cell in a
		// table of many rows would make megabytes of spaces.
		table.NewTablePlugin(
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
			table.WithHeaderPromotion(true),
			table.WithSkipEmptyRows(true),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithPresentationTables(false),
		),
	))
	out, err := c.ConvertNode(body)
	return string(out), err
}

// flattenTables turns tables into plain blocks if Markdown cannot express them, or if
// they have more than left cells, with all rows filled up to the longest one. The
// innermost tables come first.
func flattenTables(n *html.Node, left *int) {
	for c := range n.ChildNodes() {
		flattenTables(c, left)
	}
	if n.DataAtom != atom.Table {
		return
	}
	rows, columns := tableSize(n)
	if size := rows * columns; size <= *left && !isLayout(n) { // at most 100,000 × 100,000 × 100
		*left -= size
		return
	}
	flatten(n)
}

// isLayout reports whether a table is marked as mere layout, or has something in it or
// around it that a table in Markdown cannot have.
func isLayout(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "role" && (a.Val == "presentation" || a.Val == "none") {
			return true
		}
	}
	for d := range n.Descendants() {
		if g := groups[d.DataAtom]; g&(heading|nesting) != 0 || d.DataAtom == atom.Hr || d.DataAtom == atom.Table || d.DataAtom == atom.Pre {
			return true
		}
	}
	for p := range n.Ancestors() {
		if groups[p.DataAtom]&inline != 0 {
			return true
		}
	}
	return false
}

// tableSize counts the rows and the cells of the longest row, with spans.
func tableSize(n *html.Node) (rows, columns int) {
	extra := 0 // rows that cells reach beyond
	for d := range n.Descendants() {
		if d.DataAtom != atom.Tr {
			continue
		}
		rows++
		width := 0
		for cell := range d.ChildNodes() {
			if cell.Type == html.ElementNode {
				width += span(cell, "colspan")
				extra = max(extra, span(cell, "rowspan"))
			}
		}
		columns = max(columns, width)
	}
	return rows + extra, columns + extra
}

// span reads a cell's colspan or rowspan, and corrects one that is out of bounds.
func span(cell *html.Node, key string) int {
	for i, a := range cell.Attr {
		if a.Key == key {
			n, err := strconv.Atoi(a.Val)
			if err != nil || n < 1 {
				n = 1
			}
			n = min(n, maxSpan)
			cell.Attr[i].Val = strconv.Itoa(n)
			return n
		}
	}
	return 1
}

// flatten turns a table and its parts into blocks.
func flatten(n *html.Node) {
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			d.DataAtom, d.Data, d.Attr = atom.Div, "div", nil
		}
	}
	n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil
}
