//go:build race

package main

// tempo multiplies the times of a run. It is above 1 here, because the race detector makes SQLite,
// which is translated from C, about ten times slower.
const tempo = 5
