//go:build !race

package main

// tempo stretches the times of a run.
const tempo = 1
