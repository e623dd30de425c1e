// Package robots follows robots.txt files (RFC 9309). Adapters that read pages of any
// origin share it.
package robots
