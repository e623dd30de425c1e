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

// stored says which store is used, and, for serve, as which node of a fleet.
type stored struct {
	db, redis string
	fleet     bool
	node      string
	from      origins
}

// flags adds those that the service and its administration share.
func (s *stored) flags(fs flags) {
	fs.StringVar(&s.db, "db", "streamwatch.db", "SQLite `file`")
	fs.StringVar(&s.redis, "redis", "", "keep everything in Redis instead: redis://[user:password@]host:port; with ?addr=host:port&addr=… of a cluster; with ?master_name=NAME of a Sentinel, the others in &addr=…: the password before the @ is then the Sentinels', that of the servers is in &password=…")
}

// check returns an error if both stores are named, for only one would be used. The default
// of -db names none.
func (s *stored) check() error {
	if s.from["db"] == "" || s.db == "" || s.redis == "" {
		return nil
	}
	return fmt.Errorf("%s is not allowed with %s: want one of them", s.from.called("db"), s.from.called("redis"))
}

// checkThere returns a usageError if the store is a SQLite file that is not there, which
// opening would make.
func (s *stored) checkThere() error {
	if s.redis != "" {
		return nil
	}
	if _, err := os.Stat(s.db); err != nil {
		return usageError{fmt.Errorf("%s %q is not allowed: want a database that is there: %w", s.from.called("db"), s.db, err)}
	}
	return nil
}

// keyedStore keeps everything, API keys too: SQLite's and Redis' do.
type keyedStore interface {
	storage.Store
	storage.Keyed
}

// openStore opens the store that the flags name, or, if it is to be temporary and none is
// named, a new SQLite file. done closes the store, and removes that file.
func openStore(ctx context.Context, c stored, temporary bool, log *slog.Logger) (store keyedStore, done func(), err error) {
	closing := func() {}
	switch {
	case c.redis != "":
		var to *redis.UniversalOptions
		if to, err = redisOptions(c.redis); err != nil {
			err = usageError{fmt.Errorf("%s %w", c.from.called("redis"), err)}
		} else {
			redisLog.to(log)
			store, err = redisstore.Open(ctx, to, redisstore.Options{Logger: log})
		}
	case temporary:
		var dir string
		if dir, err = os.MkdirTemp("", "streamwatch-demo-"); err == nil {
			closing = func() { os.RemoveAll(dir) }
			store, err = sqlite.Open(ctx, filepath.Join(dir, "demo.db"), sqlite.Options{Logger: log})
		}
	default:
		store, err = sqlite.Open(ctx, c.db, sqlite.Options{Logger: log})
	}
	if err != nil {
		closing()
		switch {
		case ctx.Err() != nil && !temporary:
			err = fmt.Errorf("the store was never reached: %s: %w", c.where(), ctx.Err())
		case errors.As(err, new(usageError)), temporary && c.redis == "":
		case c.redis != "":
			err = fmt.Errorf("%s %s: %w", c.from.called("redis"), c.where(), reworded{err, redisWords.Replace(err.Error())})
		default:
			err = fmt.Errorf("%s %q: %w", c.from.called("db"), c.db, err)
		}
		return nil, nil, err
	}
	return store, func() {
		if err := store.Close(context.WithoutCancel(ctx)); err != nil {
			log.Error("store not closed", "error", err)
		}
		closing()
	}, nil
}

// redisWords rewords the advice in the store's errors: it names options that no flag sets.
var redisWords = strings.NewReplacer(", or Options.AllowEviction to take the risk", "", "begin with another Options.Name,", "take another /database of the server,")

// where names the store, so that who issues a key sees whether it is the server's.
func (c *stored) where() string {
	if c.redis == "" {
		if path, err := filepath.Abs(c.db); err == nil {
			return path
		}
		return c.db
	}
	return netguard.RedactURL(c.redis)
}
