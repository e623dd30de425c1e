package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	randv2 "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Backup copies the store, as it is at this moment, to a new file at path that Open
// can open. Other calls are not held up; the copy does not have what they write. It has
// an epoch of its own: see deliver.Log.
// When Backup returns nil, the copy is complete and on the disk; after an error
// there is no file at path. An existing file is refused with fs.ErrExist. A process
// that is killed during Backup leaves a file whose name begins with path and ends
// in .partial: it can be removed.
//
// To restore a backup, stop all processes that use the store, remove its file and
// those ending in -wal and -shm beside it, and copy the backup to its place. A log
// that is left there would be applied to the backup.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if err := s.calling.enter(); err != nil {
		return err
	}
	defer s.calling.leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.cut, cancel)()
	err = backup(inner, path, s.path, s.file)
	if err != nil && ctx.Err() == nil && s.cut.Err() != nil {
		return ErrClosed
	}
	return err
}

// BackupFile is Backup of the store in a file that another process may have open. Files that
// Open refuses are refused.
func BackupFile(ctx context.Context, file, path string) error {
	from, err := realPath(file)
	if err != nil {
		return wrap(err)
	}
	if _, err := os.Stat(from); err != nil { // inspect would make it
		return wrap(err)
	}
	entered, err := inUse.enter(from, func() error { return inspect(ctx, from) })
	if err != nil {
		return fmt.Errorf("%w: %s", err, file)
	}
	defer inUse.leave(entered)
	return backup(ctx, path, from, entered)
}

// backup copies the file from to a new one at path.
func backup(ctx context.Context, path, from string, file *file) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("sqlite: backup to %q: %w", path, err)
	}
	// The copy gets its name when it is complete. Until then its name is random, so
	// that a file left by a killed process is not in the way.
	partial := path + "." + strings.ToLower(rand.Text()) + ".partial"
	if err := createFile(partial); err != nil {
		return err
	}
	defer os.Remove(partial) // after a success it has another name, too
	if err := copyTo(ctx, partial, from, file); err != nil {
		return err
	}
	if err := newEpoch(ctx, partial); err != nil {
		return wrap(err)
	}
	if err := syncFile(partial); err != nil {
		return wrap(err)
	}
	if err := giveName(partial, path); err != nil {
		return fmt.Errorf("sqlite: backup to %q: %w", path, err)
	}
	return nil
}

// giveName gives a file another name, which is on the disk when it returns nil.
// It does not replace a file that another process has made meanwhile.
func giveName(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case err != nil: // a file system without hard links: replace a file of our own
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

// syncDir makes the names in a directory survive a power failure. Windows has no
// such call: there syncing the file does it.
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

// copyTo copies the file from to the empty file at path. It uses a connection of its
// own, since those for reads refuse every write.
func copyTo(ctx context.Context, path, from string, file *file) error {
	db, err := connect(from, file, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return wrap(err)
	}
	return nil
}

// newEpoch gives the copy at path an epoch of its own, since it will give other events the
// numbers that the original gives meanwhile.
func newEpoch(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, url.Values{"mode": {"rw"}, "_pragma": {"journal_mode(MEMORY)"}}))
	if err != nil {
		return err
	}
	epoch := randv2.Int64N(1<<53-1) + 1 // clients read it from JSON
	_, err = db.ExecContext(ctx, `UPDATE totals SET epoch = ?`, epoch)
	return errors.Join(err, db.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
