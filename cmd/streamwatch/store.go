package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// openStore opens the store of a configuration. For the demonstration it creates a SQLite file. done
// closes the store and removes the file of the demonstration.
func openStore(ctx context.Context, c config, log *slog.Logger) (store storage.Store, done func(), err error) {
	if err := c.checkDB(); err != nil {
		return nil, nil, command.Usagef("%s %w", c.from.called("db"), err)
	}
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
	case c.kind() == onRedis:
		store, err = openRedis(ctx, c, log)
	case c.kind() == onPostgres:
		store, err = openPostgres(ctx, c, log)
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
	if err := c.checkDB(); err != nil {
		return command.Usagef("%s %w", c.from.called("db"), err)
	}
	if c.shared() {
		return nil
	}
	if _, err := os.Stat(c.DB); err != nil {
		return command.Usagef("%s %q is not allowed: want a database that is there: %w", c.from.called("db"), c.DB, err)
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

// where returns the store's file or address for the output of commands, without a password.
func (c *config) where() string {
	if c.shared() {
		return redacted(c.DB)
	}
	if path, err := filepath.Abs(c.DB); err == nil {
		return path
	}
	return c.DB
}

// storeKind is a kind of store, by its name in texts.
type storeKind string

const (
	onSQLite   storeKind = "SQLite"
	onRedis    storeKind = "Redis"
	onPostgres storeKind = "PostgreSQL"
)

// kind returns the kind of the store, by the scheme of db.
func (c *config) kind() storeKind {
	switch scheme, _, _ := strings.Cut(c.DB, "://"); {
	case scheme == c.DB:
	case scheme == "redis" || scheme == "rediss":
		return onRedis
	case scheme == "postgres" || scheme == "postgresql":
		return onPostgres
	}
	return onSQLite
}

// shared reports whether servers share the store, and so are a fleet.
func (c *config) shared() bool { return c.kind() != onSQLite }

// noFile matches a db that is no path: with a scheme that is not known, or in the words of libpq.
var noFile = regexp.MustCompile(`(?i)^\s*(?:[a-z][a-z0-9+.-]*:/?/|(?:host|hostaddr|port|user|password|dbname|service)\s*=)`)

// checkDB returns an error if db is no path and no address of a store.
func (c *config) checkDB() (err error) {
	switch {
	case c.kind() == onRedis:
		_, err = redisOptions(c.DB)
	case c.kind() == onPostgres:
		_, _, err = postgresOptions(c.DB)
	case noFile.MatchString(c.DB):
		err = fmt.Errorf("%s is not allowed: want a SQLite file, or the address of a PostgreSQL, postgres://…, or of a Redis, redis://… or rediss://…", redacted(c.DB))
	}
	return err
}

// redacted returns the address of a store without user, password and query values. It returns *** if it
// is unclear where these are.
func redacted(db string) string {
	before, _, _ := strings.Cut(db, "?")
	u, err := url.Parse(db)
	if err != nil || u.Scheme == "" || u.User == nil && strings.Contains(before, "@") {
		return "***"
	}
	return netguard.RedactURL(db)
}
