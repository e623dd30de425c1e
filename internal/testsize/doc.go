// Package testsize says how much a test does: a random test is as good as the number of
// worlds that it tries, and a test under the race detector takes ten times as long.
package testsize
