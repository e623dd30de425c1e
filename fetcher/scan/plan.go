package scan

import (
	"fmt"
	"strings"
)

// MaxPaths is the largest number of paths in a Plan, for the document and for each element. The
// limit lets a Scanner store the values without allocating.
const MaxPaths = 8

// Plan says which list of a document a Scanner reads, and which members it looks up.
// It is immutable and safe for concurrent use.
type Plan struct {
	list    string // name of the list; "" if the document itself is the list
	top     node
	element node
}

// NewPlan returns a Plan. The list to read is the document's member named list or, if list is
// "", the document itself. The paths in top are of other members of the document. The paths in
// element are of members of each element. A dot in a path leads into an object ("post.uri").
// NewPlan panics on an empty name, on a path given twice, on more than MaxPaths paths in top or
// in element, and on paths in top if list is "".
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

// node is one name on a path: a member to look up, or an object around such a member.
type node struct {
	name     string
	slot     int  // index of its path and of its value; -1 if no path ends here
	list     bool // it is the plan's list
	children []*node
	lengths  uint64 // bit n is set if a child's name has n bytes; bit 63, 63 or more
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

// child returns the child of that name. It adds one if there is none.
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

// match returns the child of that name, or nil if there is none.
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
