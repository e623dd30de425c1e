package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Need skips the test unless real servers are wanted and can be started: see the package's
// documentation. Single, Replicated and Bouncer call it.
func Need(t testing.TB) {
	t.Helper()
	need(t, "initdb", "postgres")
}

func need(t testing.TB, programs ...string) {
	t.Helper()
	required := os.Getenv("STREAMWATCH_REQUIRE_POSTGRES") == "1"
	if why := lacking(required, programs...); why != "" {
		if required {
			t.Fatalf("pgtest: STREAMWATCH_REQUIRE_POSTGRES=1, but %s", why)
		}
		t.Skipf("SKIPPED: NO REAL POSTGRESQL: %s", why)
	}
}

// lacking returns why real servers cannot be started, or "" if they can.
func lacking(wanted bool, programs ...string) string {
	if !wanted && os.Getenv("STREAMWATCH_POSTGRES") != "1" {
		return "set STREAMWATCH_POSTGRES=1 to run this test with real PostgreSQL servers"
	}
	if runtime.GOOS != "linux" {
		return "these tests are for Linux, this is " + runtime.GOOS
	}
	for _, program := range programs {
		if _, err := find(program); err != nil {
			return err.Error()
		}
	}
	return ""
}

// packages maps each program to its Debian package.
var packages = map[string]string{"initdb": "postgresql", "postgres": "postgresql", "pgbouncer": "pgbouncer"}

// ErrNone says that a program of PostgreSQL is not installed.
var ErrNone = errors.New("pgtest: no real PostgreSQL")

// find returns the path of a program.
func find(program string) (string, error) {
	if dir := os.Getenv("STREAMWATCH_POSTGRES_BIN"); dir != "" && program != "pgbouncer" {
		path, err := exec.LookPath(filepath.Join(dir, program))
		if err != nil {
			return "", fmt.Errorf("%w: STREAMWATCH_POSTGRES_BIN has no %s: %w", ErrNone, program, err)
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath(program); err == nil {
		return filepath.Abs(path)
	}
	elsewhere := []string{"/usr/sbin/" + program} // not in every user's PATH
	if program != "pgbouncer" {
		elsewhere = versions("/usr/lib/postgresql/*/bin/" + program)
	}
	for _, path := range elsewhere {
		if _, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s is not installed: apt-get install %s", ErrNone, program, packages[program])
}

// versions returns the files of a pattern /usr/lib/postgresql/*/…, the newest first.
func versions(pattern string) []string {
	paths, _ := filepath.Glob(pattern) // its only error is a bad pattern
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	slices.SortFunc(paths, func(a, b string) int { return version(b) - version(a) })
	return paths
}

// Until checks a condition every 10 ms. It ends the test if the condition is not true within the
// limit.
func Until(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	if err := until(limit, what, condition); err != nil {
		t.Fatal(err)
	}
}

func until(limit time.Duration, what string, condition func() bool) error {
	ends := time.Now().Add(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(ends) {
			return fmt.Errorf("pgtest: waited %v in vain: %s", limit, what)
		}
		<-tick.C
	}
	return nil
}
