// Package parts decides which accounts and queries a node of a fleet polls. For accounts
// that other nodes poll, it records which sources want them and how often: each node needs
// this to decide about rules as every other node does.
package parts
