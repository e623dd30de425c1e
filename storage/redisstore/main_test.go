package redisstore_test

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // miniredis makes a Lua interpreter for each script that it runs
	goleak.VerifyTestMain(m, tryingDial)
}

// tryingDial is a goroutine of go-redis that dials a server that is down every second,
// and only then notices that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
