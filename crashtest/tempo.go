//go:build !race

package main

// tempo multiplies the times of a run: see tempo_race.go.
const tempo = 1
