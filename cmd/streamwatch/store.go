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

// keyedStore keeps everything, API keys too: SQLite's and Redis' do.
type keyedStore interface {
	storage.Store
	storage.Keyed
}

// openStore opens the store of a configuration; that of the demonstration is a new SQLite
// file. done closes the store, and removes that file.
func openStore(ctx context.Context, c config, log *slog.Logger) (store keyedStore, done func(), err error) {
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

// openExisting opens the store for a command that has no use for an empty one. It returns a
// usageError for a SQLite file that is not there.
func openExisting(ctx context.Context, c config) (store keyedStore, done func(), err error) {
	if err := c.checkThere(); err != nil {
		return nil, nil, err
	}
	return openStore(ctx, c, slog.New(slog.DiscardHandler))
}

// checkThere returns a usageError if the store is a SQLite file that is not there, which
// opening would make.
func (c *config) checkThere() error {
	if c.onRedis() {
		return nil
	}
	if _, err := os.Stat(c.DB); err != nil {
		return usageError{fmt.Errorf("%s %q is not allowed: want a database that is there: %w", c.from.called("db"), c.DB, err)}
	}
	return nil
}

// storeConfig reads what a command on the store is asked for. Variables of other values than
// these keys' may be missing.
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

// redisWords rewords the advice in the store's errors: it names options that no key sets.
var redisWords = strings.NewReplacer(", or Options.AllowEviction to take the risk", "", "begin with another Options.Name,", "take another /database of the server,")

// where names the store, for the output of commands. It has no password.
func (c *config) where() string {
	if c.onRedis() {
		return netguard.RedactURL(c.DB)
	}
	if path, err := filepath.Abs(c.DB); err == nil {
		return path
	}
	return c.DB
}
