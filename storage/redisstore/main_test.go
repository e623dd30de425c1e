package redisstore_test

import (
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // miniredis makes a Lua interpreter for each script that it runs
	goleak.VerifyTestMain(m, tryingDial)
}

// sized is how often something is done: usually, and with STREAMWATCH_LONG=1.
func sized(usual, long int) int {
	if os.Getenv("STREAMWATCH_LONG") != "" {
		return long
	}
	return usual
}

// tryingDial is a goroutine of go-redis that dials a server that is down every second,
// and only then notices that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
