//go:build race

package main

// tempo stretches the times of a run: the race detector makes SQLite, which is
// translated C, some ten times slower.
const tempo = 5
