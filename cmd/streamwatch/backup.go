package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/stores"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const backupAbout = `Backup copies the SQLite file, as it is at this moment, to a new one. A service of this version of the program
or an earlier one may write meanwhile. The copy is complete and on the disk when the command ends with
status 0.

To go back to it, stop what uses the file, remove that and the files beside it that end in -wal and -shm,
and put the copy in its place. The key that encrypts secrets in it, seal-key, is not in it.`

// backupsOf says what makes the backups of a server.
var backupsOf = map[stores.Kind]string{stores.Redis: "BGSAVE and a copy of its file", stores.PostgreSQL: "pg_dump, or pg_basebackup and its archive of the log"}

// defineBackup is the command backup.
func defineBackup(f *command.Flags) command.Run {
	var to string
	f.Add(&to, "to", "new `FILE` for the copy")
	storeFlags(f)
	return func(ctx context.Context, p process) error {
		c, err := storeConfig(p, f)
		if err == nil {
			err = f.Require("to", "a new file for the copy")
		}
		if err != nil {
			return err
		}
		if c.DB.Shared() {
			return command.Usagef("%s %s is not allowed: %s makes its own backups, by %s: want a SQLite file", c.from.called("db"), c.DB.String(), c.DB.Kind(), backupsOf[c.DB.Kind()])
		}
		if err := c.checkThere(); err != nil {
			return err
		}
		stop := command.Progress(p.Logs, sizes(to+".*.partial", string(c.DB)))
		err = sqlite.BackupFile(ctx, string(c.DB), to)
		stop()
		switch {
		case errors.Is(err, fs.ErrExist):
			return command.Usagef("-to %q is not allowed: want a file that is not there yet", to)
		case err != nil:
			return fmt.Errorf("cannot copy %s %q to -to %q: %w", c.from.called("db"), string(c.DB), to, err)
		}
		if path, err := filepath.Abs(to); err == nil {
			to = path
		}
		fmt.Fprintf(p.Out, "of  %s\nin  %s\n", c.DB.String(), to)
		return nil
	}
}

// sizes tells how much of a file is in its copy, whose name matches pattern.
func sizes(pattern, file string) func() string {
	size := func(path string) (n int64) {
		if info, err := os.Stat(path); err == nil {
			n = info.Size()
		}
		return n
	}
	return func() string {
		found, _ := filepath.Glob(pattern)
		if found == nil {
			return ""
		}
		return fmt.Sprintf("%d of about %d MB", size(found[0])>>20, size(file)>>20)
	}
}
