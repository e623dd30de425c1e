package redisstore_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, tryingDial) }

// tryingDial is a goroutine of go-redis that dials a server that is down every second,
// and only then notices that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
