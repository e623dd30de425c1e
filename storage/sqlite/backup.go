package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// Backup writes the state of this moment to a new file at path, which Open can
// open. Calls go on meanwhile; what they write is not in it. The file is
// complete and on the disk when Backup returns nil, and is not there after an
// error. An existing file is refused with fs.ErrExist. A process that is killed
// meanwhile leaves a file beside it whose name begins like path and ends in
// .partial; it may be removed.
//
// To restore one, with no process using the store: remove the store's file and
// those ending in -wal and -shm beside it, then copy the backup to its place. A
// log left there would be taken for that of the backup.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("sqlite: backup to %q: %w", path, err)
	}
	// It gets its name when it is whole. Until then it has one of its own, which
	// what a killed process left cannot be in the way of.
	partial := path + "." + strings.ToLower(rand.Text()) + ".partial"
	if err := createFile(partial); err != nil {
		return err
	}
	defer os.Remove(partial) // it has another name, or is not wanted
	if err := s.copyTo(ctx, partial); err != nil {
		return err
	}
	if err := syncFile(partial); err != nil {
		return wrap(err)
	}
	crashpoint.Hit("sqlite.backup.copied")
	if err := giveName(partial, path); err != nil {
		return fmt.Errorf("sqlite: backup to %q: %w", path, err)
	}
	return nil
}

// giveName gives a file another name, which is on the disk when it returns nil.
// It does not replace a file that was made meanwhile.
func giveName(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case err != nil: // no hard links here: what is replaced is our own
		if err := createFile(to); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return errors.Join(err, os.Remove(to))
		}
	}
	if err := syncDir(filepath.Dir(to)); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// syncDir makes the names in a directory survive a power failure. Windows has
// no such call, and does it with the file.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copyTo needs a connection of its own: those that read may not write anywhere.
func (s *Store) copyTo(ctx context.Context, path string) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.cut, cancel)()
	db, err := connect(s.path, s.file, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(inner, `VACUUM INTO ?`, path); err != nil {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.cut.Err() != nil:
			return ErrClosed
		}
		return wrap(err)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
