package stores

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Address is where a store is: the path of a SQLite file, postgres://…, or redis://… or rediss://….
type Address string

// Kind is a kind of store, by its name in texts.
type Kind string

// Kinds of stores.
const (
	SQLite     Kind = "SQLite"
	Redis      Kind = "Redis"
	PostgreSQL Kind = "PostgreSQL"
)

// Kind returns the kind of the store, by the scheme.
func (a Address) Kind() Kind {
	switch scheme, _, _ := strings.Cut(string(a), "://"); {
	case scheme == string(a):
	case scheme == "redis" || scheme == "rediss":
		return Redis
	case scheme == "postgres" || scheme == "postgresql":
		return PostgreSQL
	}
	return SQLite
}

// Shared reports whether servers share the store, and so are a fleet.
func (a Address) Shared() bool { return a.Kind() != SQLite }

// String returns the file's whole path, or the address without user, password and values of its query.
func (a Address) String() string {
	if a.Shared() {
		return redacted(string(a))
	}
	if path, err := filepath.Abs(string(a)); err == nil {
		return path
	}
	return string(a)
}

// noFile matches an address that is no path: with a scheme that is not known, or in the words of libpq.
var noFile = regexp.MustCompile(`(?i)^\s*(?:[a-z][a-z0-9+.-]*:/?/|(?:host|hostaddr|port|user|password|dbname|service)\s*=)`)

// Check returns an error if the address is not one.
func (a Address) Check() (err error) {
	switch {
	case a.Kind() == Redis:
		_, err = redisOptions(string(a))
	case a.Kind() == PostgreSQL:
		_, _, err = postgresOptions(string(a))
	case noFile.MatchString(string(a)):
		err = fmt.Errorf("%s is not allowed: want a SQLite file, or the address of a PostgreSQL, postgres://…, or of a Redis, redis://… or rediss://…", redacted(string(a)))
	}
	return err
}

// Options are those of Open.
type Options struct {
	Logger *slog.Logger
	Admin  bool // see sqlite.Options
	Waits  bool // for a server that cannot be reached, until ctx ends
}

// Open opens the store.
func (a Address) Open(ctx context.Context, o Options) (storage.Store, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	switch a.Kind() {
	case Redis:
		return openRedis(ctx, a, o.Logger)
	case PostgreSQL:
		return openPostgres(ctx, a, o)
	}
	return sqlite.Open(ctx, string(a), sqlite.Options{Logger: o.Logger, Admin: o.Admin})
}

// OpenForCopy opens the store for a copy.
func (a Address) OpenForCopy(ctx context.Context, use transfer.Use) (transfer.Store, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	switch a.Kind() {
	case Redis:
		to, _ := redisOptions(string(a))
		redisLog.to(slog.New(slog.DiscardHandler))
		store, err := redisstore.OpenForCopy(ctx, to, redisstore.Options{}, use)
		if err != nil {
			return nil, reworded{err, redisWords.Replace(err.Error())}
		}
		return store, nil
	case PostgreSQL:
		address, o, _ := postgresOptions(string(a))
		store, err := postgres.OpenForCopy(ctx, address, o, use)
		if err != nil {
			return nil, inPlainWords(err)
		}
		return store, nil
	}
	return sqlite.OpenForCopy(ctx, string(a), sqlite.Options{}, use)
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

// reworded is a library's error with another text, for the user of a program.
type reworded struct {
	error
	text string
}

// Error returns that text.
func (r reworded) Error() string { return r.text }

// Unwrap returns the library's error.
func (r reworded) Unwrap() error { return r.error }
