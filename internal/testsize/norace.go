//go:build !race

package testsize

// Race says that the race detector is on.
const Race = false
