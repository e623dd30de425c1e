// Package parts says which accounts and queries a node of a fleet polls. Of the other
// accounts it keeps which sources want them and how often, so that the node decides about
// rules as every other node does.
package parts
