package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// locks counts this process's shared locks on database files, as SQLite takes
// them: https://sqlite.org/fileformat.html#the_lock_byte_page
func locks(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(string(read(t, "/proc/locks"))) {
		f := strings.Fields(line)
		if len(f) == 8 && f[4] == fmt.Sprint(os.Getpid()) && f[6] == "1073741826" {
			n++
		}
	}
	return n
}

// A process that closes any descriptor of a file loses all its POSIX locks on
// it. Without them another program believes that nobody has the store open, and
// removes the log that this one writes to.
func TestASecondOpenKeepsTheLocksOfTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	if locks(t) == 0 {
		t.Skip("no /proc/locks, or nothing in it")
	}
	before := locks(t)
	again, _ := openAt(t, path, sqlite.Options{Admin: true})
	if now := locks(t); now < before {
		t.Errorf("%d locks with the file open twice, want %d as before", now, before)
	}
	closed(t, again)
	if now := locks(t); now < before {
		t.Errorf("%d locks after the second was closed, want %d as before", now, before)
	}
}

// Backup fails when the store's file is gone: an empty backup would be noticed only
// when it is needed.
func TestBackupOfAFileThatWasMovedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	furnish(t, s)
	before := dump(t, s)
	moveAway(t, path)
	to := filepath.Join(t.TempDir(), "b.db")
	if s.Backup(t.Context(), to) == nil {
		copied, _ := openAt(t, to, sqlite.Options{})
		want(t, "content", dump(t, copied), before)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("another file was made in its place")
	}
}

// moveAway renames a store's files while it is open.
func moveAway(t *testing.T, path string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, path+".old"+suffix); err != nil {
			t.Skip(err) // not on every system
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	worked(t, path)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		want(t, "mode of "+suffix, info.Mode().Perm(), fs.FileMode(0o600))
	}
}

// An empty file that Open fills will have secrets.
func TestAnEmptyFileBecomesItsOwnersOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	must(t, os.WriteFile(path, nil, 0o644))
	must(t, os.Chmod(path, 0o644)) // whatever the umask
	worked(t, path)
	info, err := os.Stat(path)
	must(t, err)
	want(t, "mode", info.Mode().Perm(), fs.FileMode(0o600))
}

// Programs that start together may find no file, and make it, at the same moment.
func TestOpensThatMakeTheFileTogether(t *testing.T) {
	const programs = 8
	for round := range 50 {
		path := filepath.Join(t.TempDir(), fmt.Sprint(round, ".db"))
		begin, errs := make(chan struct{}), make(chan error, programs)
		for range programs {
			go func() {
				<-begin
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{Admin: true})
				if err == nil {
					err = s.Close(t.Context())
				}
				errs <- err
			}()
		}
		close(begin)
		for range programs {
			must(t, <-errs)
		}
	}
}
