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

// Backup copies the store to a new file at path, which Open can open. The copy has the state at the
// moment of the call; other calls continue, and their writes are not in the copy. The copy gets its
// own epoch: see deliver.Log.
//
// When Backup returns nil, the copy is complete and synced to the disk. After an error there is no
// file at path, unless it existed before: then the error is fs.ErrExist. Nothing else may create a
// file at path during the call. A process that is killed during Backup leaves a file that may be
// removed. Its name begins with path and ends in .partial.
//
// To restore a backup, stop all processes that use the store. Remove its file and the files next to
// it that end in -wal and -shm. Then copy the backup to the place of the file. If an old -wal file
// were still there, SQLite would apply it to the backup.
func (s *Store) Backup(ctx context.Context, path string) error {
	return s.calls.Do(ctx, func(ctx context.Context) error { return backup(ctx, path, s.path) })
}

// BackupFile does the same as Backup, for a file that another process may have open. It refuses the
// files that Open refuses.
func BackupFile(ctx context.Context, file, path string) error {
	from, err := realPath(file)
	if err != nil {
		return wrap(err)
	}
	if err := checkRegular(from); err != nil {
		return fmt.Errorf("%w: %s", err, file)
	}
	return backup(ctx, path, from)
}

// backup copies the file at from to a new file at path.
func backup(ctx context.Context, path, from string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return wrap(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("sqlite: backup to %q: %w", path, err)
	}
	// The copy gets its final name when it is complete. Its temporary name is random, to differ
	// from that of a file left by a killed process.
	partial := path + "." + strings.ToLower(rand.Text()) + ".partial"
	if err := createFile(partial); err != nil {
		return err
	}
	defer os.Remove(partial) // fails after a success
	if err := copyTo(ctx, partial, from); err != nil {
		return err
	}
	if err := newEpoch(ctx, partial); err != nil {
		return wrap(err)
	}
	if err := os.Rename(partial, path); err != nil {
		return wrap(err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return errors.Join(wrap(err), os.Remove(path))
	}
	return nil
}

// syncDir makes changes of a directory's entries survive a power failure. On Windows it does
// nothing, because there syncing a file also syncs its entry.
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

// copyTo copies the store at from to the empty file at path. It opens a new connection, because the
// connections for reads refuse every write.
func copyTo(ctx context.Context, path, from string) error {
	db, err := connect(from, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := checkFile(ctx, db); err != nil {
		return fmt.Errorf("%w: %s", err, from)
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return wrap(err)
	}
	return nil
}

// newEpoch gives the copy at path a new epoch, because the copy and the original will give the same
// numbers to different events. Its transaction syncs the whole file.
func newEpoch(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, url.Values{"mode": {"rw"}, "_pragma": {"journal_mode(MEMORY)"}}))
	if err != nil {
		return err
	}
	epoch := randv2.Int64N(1<<53-1) + 1 // 53 bits, because clients read it from JSON
	_, err = db.ExecContext(ctx, `BEGIN; DROP TABLE IF EXISTS delivery_epoch; UPDATE totals SET epoch = ?; COMMIT`, epoch)
	return errors.Join(err, db.Close())
}
