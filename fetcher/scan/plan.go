package scan

import (
	"fmt"
	"strings"
)

// MaxPaths bounds the members that a Plan looks up beside the list, and those in
// each element, so that a Scanner has room for them without allocating.
const MaxPaths = 8

// Plan says which list of a document to go through, and which members to look up.
// It is immutable and safe for concurrent use.
type Plan struct {
	list    string // "" when the document is the list
	top     node
	element node
}

// NewPlan makes a plan for the list that is the member named list of the
// document, or with list "" the document itself. The paths in top are members
// of the document beside the list, those in element are members of each of the
// list's elements; a dot leads into an object ("post.uri"). It panics on an empty
// name, a path that is given twice, and more than MaxPaths of a kind.
func NewPlan(list string, top, element []string) *Plan {
	p := &Plan{list: list, top: newNode(top), element: newNode(element)}
	if list == "" && len(top) > 0 {
		panic(fmt.Sprintf("scan: top %q is not allowed: a document that is a list has no members", top))
	}
	if list != "" {
		p.top.child(list).list = true
	}
	return p
}

// node is a member to look up, or an object that leads to one.
type node struct {
	name     string
	slot     int // index of its path, where its value is kept; -1 for none
	list     bool
	children []*node
	lengths  uint64 // bit n: a child's name has n bytes; bit 63: that or more
}

func newNode(paths []string) node {
	if len(paths) > MaxPaths {
		panic(fmt.Sprintf("scan: %d paths are not allowed: want at most %d", len(paths), MaxPaths))
	}
	root := node{slot: -1}
	for slot, path := range paths {
		n := &root
		for name := range strings.SplitSeq(path, ".") {
			if name == "" {
				panic(fmt.Sprintf("scan: path %q is not allowed: want names with dots between them", path))
			}
			n = n.child(name)
		}
		if n.slot >= 0 {
			panic(fmt.Sprintf("scan: path %q is not allowed twice", path))
		}
		n.slot = slot
	}
	return root
}

// child returns the child of that name, and makes it if there is none.
func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	c := &node{name: name, slot: -1}
	n.children = append(n.children, c)
	n.lengths |= 1 << min(len(name), 63)
	return c
}

// match returns the child with a name; nil for none.
func (n *node) match(name []byte) *node {
	if n.lengths>>min(len(name), 63)&1 == 0 {
		return nil
	}
	for _, c := range n.children {
		if c.name == string(name) {
			return c
		}
	}
	return nil
}
