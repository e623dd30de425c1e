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
	maxCells = 20_000 // in all tables of a page, including empty cells that fill up rows
	maxSpan  = 100    // rows or columns of a cell
)

// markdown converts a tree, and changes it. It makes a new converter for each page, because a
// converter has state.
func markdown(body *html.Node) (string, error) {
	left := maxCells
	flattenTables(body, &left)
	tidy(body)
	new(escaper).children(body, place{})
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		// Cells are not padded to the width of their column, because one wide cell in a table
		// of many rows would add megabytes of spaces.
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

// flattenTables turns a table into plain blocks if Markdown cannot express it, or if it has
// more than left cells after all rows are filled up to the longest row. It begins with the
// innermost tables.
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

// isLayout reports whether a table is marked as layout only, or cannot be a table in Markdown
// because of the elements in or around it.
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

// tableSize returns the number of rows and the number of cells of the longest row. It counts a
// cell that spans several rows or columns several times.
func tableSize(n *html.Node) (rows, columns int) {
	extra := 0 // rows added by a rowspan beyond the last row
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

// span returns a cell's colspan or rowspan. If the value is out of bounds, span corrects it in
// the tree too.
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

// flatten turns a table and its parts into plain blocks.
func flatten(n *html.Node) {
	for d := range n.Descendants() {
		switch d.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			d.DataAtom, d.Data, d.Attr = atom.Div, "div", nil
		}
	}
	n.DataAtom, n.Data, n.Attr = atom.Div, "div", nil
}
