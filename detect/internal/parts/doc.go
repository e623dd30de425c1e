// Package parts knows which accounts and queries a node of a fleet polls, and as much of
// the others as is needed to decide about rules as every other node does: which sources
// want them, and how often.
package parts
