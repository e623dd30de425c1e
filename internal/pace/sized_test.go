package pace

import (
	"os"
	"testing"
)

// sized gives how much a test does: long with STREAMWATCH_LONG=1, as in the gate's
// stage of that name, and short with -short.
func sized(long, usual, short int) int {
	switch {
	case os.Getenv("STREAMWATCH_LONG") != "":
		return long
	case testing.Short():
		return short
	}
	return usual
}
