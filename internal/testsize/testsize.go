package testsize

import (
	"os"
	"testing"
)

// Long says whether STREAMWATCH_LONG=1 is set, as in the gate's stage of that name: tests
// then do all that they can.
func Long() bool { return os.Getenv("STREAMWATCH_LONG") != "" }

// Of returns long in a long run, else short with -short or under the race detector, else
// usual. It panics before the flags are parsed.
func Of[T any](short, usual, long T) T {
	switch {
	case Long():
		return long
	case Race || testing.Short():
		return short
	}
	return usual
}
