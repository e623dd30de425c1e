package redistest

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // clients of killed servers have much to say
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit), tryingDial)
}

// tryingDial is a goroutine of go-redis that looks every second whether a server
// that was gone is back, and sees then that its pool was closed.
var tryingDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
