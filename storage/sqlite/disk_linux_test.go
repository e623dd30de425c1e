package sqlite_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A limit on the size of files makes the system refuse writes in earnest: the
// log beside the file can not grow.
func TestDiskError(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	path := filepath.Join(t.TempDir(), "store.db")
	var log bytes.Buffer
	s, _ := openAt(t, path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	set := func(l syscall.Rlimit) func() {
		return func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)) }
	}
	defer set(old)()
	breakDisk := func() {
		info, err := os.Stat(path + "-wal")
		must(t, err)
		set(syscall.Rlimit{Cur: uint64(info.Size()) + 8192, Max: old.Max})()
	}
	failures(t, path, s, &log, "disk I/O error", breakDisk, set(old))
}

func TestABackupThatFailsLeavesNothing(t *testing.T) {
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
