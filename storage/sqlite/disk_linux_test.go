package sqlite_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// limitedChild makes a test run itself as a process of its own.
const limitedChild = "STREAMWATCH_TEST_SQLITE_LIMITED"

// limited runs the test that calls it in a process of its own, and returns true
// there. In this process a limit on the size of files would also stop the output of
// go test.
func limited(t *testing.T) bool {
	if os.Getenv(limitedChild) != "" {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), limitedChild+"=1")
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("the process ended with %v: %s", err, out)
	}
	return false
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
	if !limited(t) {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	s := furnished(t)
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: old.Max}))
	dir := t.TempDir()
	err := s.Backup(t.Context(), filepath.Join(dir, "b.db"))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	wantErr(t, err, errAny)
	files, err := os.ReadDir(dir)
	must(t, err)
	want(t, "files", len(files), 0)
	must(t, s.Backup(t.Context(), filepath.Join(dir, "b.db")))
}
