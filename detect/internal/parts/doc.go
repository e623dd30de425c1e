// Package parts decides which accounts and queries a node of a fleet polls. It also records which
// sources want the accounts of other nodes, and how often. Each node needs that to decide about
// rules as every other node does.
package parts
