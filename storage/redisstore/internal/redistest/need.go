package redistest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// Need skips the test unless real servers are wanted and can be started: see the package's
// documentation. Single, Cluster and Sentinel call it.
func Need(t testing.TB) {
	t.Helper()
	required := os.Getenv("STREAMWATCH_REQUIRE_REDIS") == "1"
	if why := lacking(required); why != "" {
		if required {
			t.Fatalf("redistest: STREAMWATCH_REQUIRE_REDIS=1, but %s", why)
		}
		t.Skipf("SKIPPED: NO REAL REDIS: %s", why)
	}
}

// packages maps each program to its Debian package.
var packages = map[string]string{"redis-server": "redis-server", "redis-sentinel": "redis-sentinel"}

// lacking returns why real servers cannot be started, or "" if they can.
func lacking(wanted bool) string {
	if !wanted && os.Getenv("STREAMWATCH_REDIS") != "1" {
		return "set STREAMWATCH_REDIS=1 to run this test with real redis servers"
	}
	if runtime.GOOS != "linux" {
		return "these tests are for Linux, this is " + runtime.GOOS
	}
	for program, pkg := range packages {
		if _, err := exec.LookPath(program); err != nil {
			return program + " is not installed: apt-get install " + pkg
		}
	}
	return ""
}

// Until checks a condition every 10 ms. It ends the test if the condition is not true within the
// limit.
func Until(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ends := time.Now().Add(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(ends) {
			t.Fatalf("redistest: waited %v in vain: %s", limit, what)
		}
		<-tick.C
	}
}
