package webscrape

import (
	"golang.org/x/net/html"

	"github.com/streamwatch/streamwatch/fetcher/internal/htmltext"
)

// plainText returns a tree's text, with a blank line between paragraphs, a tab between cells,
// and "- " before a list item. As in a browser, white space becomes one space.
func plainText(n *html.Node) string {
	w := htmltext.Writer{Bullets: true}
	write(&w, n)
	return w.String()
}

// write writes a node and its children. The recursion is limited by the depth of the tree, about
// 70.
func write(w *htmltext.Writer, n *html.Node) {
	if n.Type == html.TextNode {
		w.Text([]byte(n.Data))
		return
	}
	w.Open(n.DataAtom)
	for c := range n.ChildNodes() {
		write(w, c)
	}
	w.Close(n.DataAtom)
}
