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

// Backup copies the store, in its state at this moment, to a new file at path that Open can
// open. Other calls continue meanwhile; what they write is not in the copy. The copy gets
// an epoch of its own: see deliver.Log.
//
// When Backup returns nil, the copy is complete and synced to the disk; after an error there
// is no file at path. If path exists, the error is fs.ErrExist. A process that is killed
// during Backup leaves a file that may be removed: its name begins with path and ends in
// .partial.
//
// To restore a backup, stop all processes that use the store, remove its file and the files
// next to it that end in -wal and -shm, then copy the backup into its place. SQLite would
// apply a -wal file that is left there to the backup.
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

// BackupFile is Backup for a file that another process may have open. It refuses the files that
// Open refuses.
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

// backup copies the file at from to a new file at path.
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
	// The copy gets its final name when it is complete. Its temporary name is random: a file
	// left by a killed process does not get in the way.
	partial := path + "." + strings.ToLower(rand.Text()) + ".partial"
	if err := createFile(partial); err != nil {
		return err
	}
	defer os.Remove(partial) // after a success the file keeps its other name
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

// giveName gives a file another name, and syncs the directory. It returns an error if a file of
// that name exists.
func giveName(from, to string) error {
	err := os.Link(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case err != nil: // a file system without hard links: create an empty file, then replace it
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

// syncDir makes a directory's entries survive a power failure. On Windows it does nothing:
// syncing the file does that.
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

// copyTo copies the file at from to the empty file at path, over a new connection, because the
// connections for reads refuse every write.
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

// newEpoch gives the copy at path a new epoch: the copy and the original will assign the same
// event numbers to different events.
func newEpoch(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, url.Values{"mode": {"rw"}, "_pragma": {"journal_mode(MEMORY)"}}))
	if err != nil {
		return err
	}
	epoch := randv2.Int64N(1<<53-1) + 1 // 53 bits, because clients read it from JSON
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
