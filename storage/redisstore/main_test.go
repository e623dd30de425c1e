package redisstore_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, tryingDial) }

// tryingDial is a goroutine of go-redis that looks every second whether a server
// that was gone is back, and sees then that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
