package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const backupAbout = `Backup copies the SQLite file, as it is at this moment, to a new one. A service of this
version of the program or an earlier one may write meanwhile. The copy is complete and on the
disk when the command ends with status 0. To go back to it, stop what uses the file, remove
that and the files beside it that end in -wal and -shm, and put the copy in its place. The
key that encrypts secrets in it, STREAMWATCH_SEAL_KEY, is not in it.`

// runBackup is the command backup.
func runBackup(ctx context.Context, p process, args []string) error {
	var c stored
	var to string
	flags := newFlags("backup", backupAbout)
	flags.StringVar(&c.db, "db", "streamwatch.db", "SQLite `file`")
	flags.StringVar(&to, "to", "", "new `file` for the copy")
	var err error
	if c.from, err = flags.fill(p, args); err != nil {
		return err
	}
	address, _ := p.env(variable("redis"))
	switch {
	case to == "":
		return usageError{errors.New("-to is missing: want a new file for the copy")}
	case address != "" && c.from["db"] == "":
		return usageError{fmt.Errorf("-db is missing: %s is set, and Redis makes its own backups: want the SQLite file, if that is meant", variable("redis"))}
	}
	if err := c.checkThere(); err != nil {
		return err
	}
	return backup(ctx, c, to, p)
}

// backup makes the copy, and says where it is.
func backup(ctx context.Context, c stored, to string, p process) error {
	var at *fs.PathError
	switch err := sqlite.BackupFile(ctx, c.db, to); {
	case errors.Is(err, fs.ErrExist):
		return usageError{fmt.Errorf("%s %q is not allowed: want a file that is not there yet", c.from.called("to"), to)}
	case errors.Is(err, sqlite.ErrForeign), errors.Is(err, sqlite.ErrOlder), errors.Is(err, sqlite.ErrNewer), errors.Is(err, sqlite.ErrCorrupt):
		return fmt.Errorf("%s %q: %w", c.from.called("db"), c.db, err)
	case errors.As(err, &at) && isFile(at.Path, c.db):
		return fmt.Errorf("%s %q: %w", c.from.called("db"), c.db, err)
	case err != nil:
		return fmt.Errorf("%s %q: %w", c.from.called("to"), to, err)
	}
	if path, err := filepath.Abs(to); err == nil {
		to = path
	}
	if _, err := fmt.Fprintf(p.out, "of  %s\nin  %s\n", c.where(), to); err != nil {
		return fmt.Errorf("the copy is made, but the output cannot be written: %w", err)
	}
	return nil
}

// isFile reports whether two paths lead to the same file, which exists.
func isFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
