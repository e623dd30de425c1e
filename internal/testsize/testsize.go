package testsize

import (
	"os"
	"testing"
)

// Long reports whether the environment variable STREAMWATCH_LONG is set. Tests then run at full
// size.
func Long() bool { return os.Getenv("STREAMWATCH_LONG") != "" }

// Of returns long if Long is true. Otherwise it returns short with -short or the race detector,
// and usual without them. It panics before the flags are parsed.
func Of[T any](short, usual, long T) T {
	switch {
	case Long():
		return long
	case Race || testing.Short():
		return short
	}
	return usual
}
