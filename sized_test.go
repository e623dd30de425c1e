package streamwatch_test

import (
	"os"
	"testing"
)

// sized gives how much a test does: long with STREAMWATCH_LONG=1, as in the gate's
// stage of that name, and short with -short or under the race detector.
func sized(long, usual, short int) int {
	switch {
	case os.Getenv("STREAMWATCH_LONG") != "":
		return long
	case testing.Short() || raceDetector:
		return short
	}
	return usual
}
