package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const backupAbout = `Backup copies the SQLite file, as it is at this moment, to a new one. A service of this
version of the program or an earlier one may write meanwhile. The copy is complete and on the
disk when the command ends with status 0. To go back to it, stop what uses the file, remove
that and the files beside it that end in -wal and -shm, and put the copy in its place. The
key that encrypts secrets in it, seal-key, is not in it.`

// backupsOf says what makes the backups of a server.
var backupsOf = map[storeKind]string{onRedis: "BGSAVE and a copy of its file", onPostgres: "pg_dump, or pg_basebackup and its archive of the log"}

// runBackup is the command backup.
func runBackup(ctx context.Context, p process, args []string) error {
	var to string
	fs := newFlags("backup", backupAbout)
	fs.StringVar(&to, "to", "", "new `file` for the copy")
	c, err := storeConfig(p, args, fs)
	switch {
	case err != nil:
		return err
	case to == "":
		return usageError{errors.New("-to is missing: want a new file for the copy")}
	case c.shared():
		return usageError{fmt.Errorf("%s %s is not allowed: %s makes its own backups, by %s: want a SQLite file", c.from.called("db"), c.where(), c.kind(), backupsOf[c.kind()])}
	}
	if err := c.checkThere(); err != nil {
		return err
	}
	return backup(ctx, c, to, p)
}

// backup makes the copy, and says where it is.
func backup(ctx context.Context, c config, to string, p process) error {
	switch err := sqlite.BackupFile(ctx, c.DB, to); {
	case errors.Is(err, fs.ErrExist):
		return usageError{fmt.Errorf("-to %q is not allowed: want a file that is not there yet", to)}
	case err != nil:
		return fmt.Errorf("cannot copy %s %q to -to %q: %w", c.from.called("db"), c.DB, to, err)
	}
	if path, err := filepath.Abs(to); err == nil {
		to = path
	}
	if _, err := fmt.Fprintf(p.out, "of  %s\nin  %s\n", c.where(), to); err != nil {
		return fmt.Errorf("the copy is made, but the output cannot be written: %w", err)
	}
	return nil
}
