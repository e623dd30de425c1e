package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/stores"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// openStore opens the store of a configuration. For the demonstration it creates a SQLite file. done
// closes the store and removes the file of the demonstration.
func openStore(ctx context.Context, c config, log *slog.Logger) (store storage.Store, done func(), err error) {
	if err := c.DB.Check(); err != nil {
		return nil, nil, command.Usagef("%s %w", c.from.called("db"), err)
	}
	closing := func() {}
	if c.Demo {
		dir, err := os.MkdirTemp("", "streamwatch-demo-")
		if err != nil {
			return nil, nil, err
		}
		closing = func() { os.RemoveAll(dir) }
		c.DB = stores.Address(filepath.Join(dir, "demo.db"))
	}
	if store, err = c.DB.Open(ctx, stores.Options{Logger: log, Admin: c.admin, Waits: c.waits}); err != nil {
		closing()
		if ctx.Err() != nil && !errors.Is(err, sqlite.ErrInUse) {
			return nil, nil, fmt.Errorf("the store was never reached: %s: %w", c.DB, ctx.Err())
		}
		return nil, nil, fmt.Errorf("%s %s: %w", c.from.called("db"), c.DB, err)
	}
	return store, func() {
		if err := store.Close(context.WithoutCancel(ctx)); err != nil {
			log.Error("cannot close the store", "error", err)
		}
		closing()
	}, nil
}

// openExisting opens the store for a command that needs an existing one. It returns a UsageError if
// the SQLite file does not exist.
func openExisting(ctx context.Context, c config) (store storage.Store, done func(), err error) {
	if err := c.checkThere(); err != nil {
		return nil, nil, err
	}
	return openStore(ctx, c, slog.New(slog.DiscardHandler))
}

// checkThere returns a UsageError if the store is a SQLite file that does not exist. Opening it would
// create the file.
func (c *config) checkThere() error {
	if err := c.DB.Check(); err != nil {
		return command.Usagef("%s %w", c.from.called("db"), err)
	}
	if c.DB.Shared() {
		return nil
	}
	if _, err := os.Stat(string(c.DB)); err != nil {
		return command.Usagef("%s %q is not allowed: want a database that is there: %w", c.from.called("db"), string(c.DB), err)
	}
	return nil
}

// storeConfig reads the configuration of a command on the store. The environment variables in the
// values of keys must be set; those of other values may be missing.
func storeConfig(p process, f *command.Flags, keys ...string) (config, error) {
	c, err := readConfig(p, f)
	if err == nil {
		err = c.unsetError(append(keys, "db")...)
	}
	if err != nil && !errors.As(err, new(command.UsageError)) {
		err = command.Usage(err)
	}
	return c, err
}
