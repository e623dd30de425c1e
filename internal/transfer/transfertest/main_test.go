package transfertest

import (
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // miniredis makes a Lua interpreter for each script that it runs
	m.Run()
}
