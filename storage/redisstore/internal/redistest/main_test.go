package redistest

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // clients of killed servers have much to say
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
