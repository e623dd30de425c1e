package sqlite_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// asShipped turns syncing on again, as users have it. TestMain turns it off.
var asShipped func()

// Only tests of syncing wait for the disk.
func TestMain(m *testing.M) {
	asShipped = sqlite.SetSynchronous("OFF")
	goleak.VerifyTestMain(m)
}
