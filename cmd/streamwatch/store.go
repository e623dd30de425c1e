package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// openStore opens the store of a configuration. For the demonstration it creates a SQLite file. done
// closes the store and removes the file of the demonstration.
func openStore(ctx context.Context, c config, log *slog.Logger) (store storage.Store, done func(), err error) {
	closing := func() {}
	switch {
	case c.Demo:
		var dir string
		if dir, err = os.MkdirTemp("", "streamwatch-demo-"); err != nil {
			return nil, nil, err
		}
		closing = func() { os.RemoveAll(dir) }
		c.DB = filepath.Join(dir, "demo.db")
		store, err = sqlite.Open(ctx, c.DB, sqlite.Options{Logger: log})
	case c.onRedis():
		var to *redis.UniversalOptions
		if to, err = redisOptions(c.DB); err != nil {
			return nil, nil, usageError{fmt.Errorf("%s %w", c.from.called("db"), err)}
		}
		redisLog.to(log)
		if store, err = redisstore.Open(ctx, to, redisstore.Options{Logger: log}); err != nil {
			err = reworded{err, redisWords.Replace(err.Error())}
		}
	default:
		store, err = sqlite.Open(ctx, c.DB, sqlite.Options{Logger: log, Admin: c.admin})
	}
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return nil, nil, fmt.Errorf("%s %s: %w", c.from.called("db"), c.where(), err)
	case err != nil && ctx.Err() != nil:
		closing()
		return nil, nil, fmt.Errorf("the store was never reached: %s: %w", c.where(), ctx.Err())
	case err != nil:
		closing()
		return nil, nil, fmt.Errorf("%s %s: %w", c.from.called("db"), c.where(), err)
	}
	return store, func() {
		if err := store.Close(context.WithoutCancel(ctx)); err != nil {
			log.Error("cannot close the store", "error", err)
		}
		closing()
	}, nil
}

// openExisting opens the store for a command that needs an existing one. It returns a usageError if
// the SQLite file does not exist.
func openExisting(ctx context.Context, c config) (store storage.Store, done func(), err error) {
	if err := c.checkThere(); err != nil {
		return nil, nil, err
	}
	return openStore(ctx, c, slog.New(slog.DiscardHandler))
}

// checkThere returns a usageError if the store is a SQLite file that does not exist. Opening it would
// create the file.
func (c *config) checkThere() error {
	if c.onRedis() {
		return nil
	}
	if _, err := os.Stat(c.DB); err != nil {
		return usageError{fmt.Errorf("%s %q is not allowed: want a database that is there: %w", c.from.called("db"), c.DB, err)}
	}
	return nil
}

// storeConfig reads the configuration of a command on the store. The environment variables in the
// values of keys must be set; those of other values may be missing.
func storeConfig(p process, args []string, fs flags, keys ...string) (config, error) {
	fs.storeFlags()
	if err := fs.parse(p, args); err != nil {
		return config{}, err
	}
	c, err := readConfig(p, fs)
	if err == nil {
		err = c.unsetError(append(keys, "db")...)
	}
	if err != nil && !errors.As(err, new(usageError)) {
		err = usageError{err}
	}
	return c, err
}

// redisWords removes advice from the store's errors that names options without a configuration key.
var redisWords = strings.NewReplacer(", or Options.AllowEviction to take the risk", "", "begin with another Options.Name,", "take another /database of the server,")

// where returns the store's file or address for the output of commands, without a password.
func (c *config) where() string {
	if c.onRedis() {
		return netguard.RedactURL(c.DB)
	}
	if path, err := filepath.Abs(c.DB); err == nil {
		return path
	}
	return c.DB
}
