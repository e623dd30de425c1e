//go:build race

package enginehttp_test

const raceEnabled = true
