package latencybench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// binaries is the directory of what built builds.
var binaries = filepath.Join(os.TempDir(), fmt.Sprint("streamwatch-bench-test-", os.Getpid()))

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(binaries)
		os.Exit(status)
	}))
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaries, "streamwatch.exe") // Windows wants the suffix
	if out, err := exec.Command("go", "build", "-o", path, "../..").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// built returns the path of streamwatch, which the first call builds.
func built(t *testing.T) string {
	t.Helper()
	path, err := build()
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "cache not found"), strings.Contains(err.Error(), "cache is required"):
		t.Skipf("SKIPPED: NO PROGRAM TO MEASURE: the go command has no caches to build it from: set HOME, or GOCACHE and GOMODCACHE: %v", err)
	default:
		t.Fatal(err)
	}
	return path
}
