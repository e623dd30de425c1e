package sqlite_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Only the tests of what is synced wait for the disk.
func TestMain(m *testing.M) {
	sqlite.SetSynchronous("OFF")
	goleak.VerifyTestMain(m)
}
