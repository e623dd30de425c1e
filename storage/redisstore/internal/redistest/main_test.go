package redistest

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // clients of killed servers log a lot
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit), tryingDial)
}

// tryingDial is a goroutine of go-redis that dials a server that is down every second,
// and only then notices that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
