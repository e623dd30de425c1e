package sqlite_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// asShipped has files synced as users have them, which TestMain changes.
var asShipped func()

// Only the tests of what is synced wait for the disk.
func TestMain(m *testing.M) {
	asShipped = sqlite.SetSynchronous("OFF")
	goleak.VerifyTestMain(m)
}
