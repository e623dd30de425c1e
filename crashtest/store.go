package main

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// backend is the store under test, as the parent process sees it. All that the
// harness has to know of a kind of store is behind it.
type backend interface {
	// config is what a process needs to open the store.
	config() storeConfig
	// read returns what the store holds. No process may have it open.
	read(ctx context.Context) (state, error)
	// backups is the directory for backups, "" when the store makes none.
	backups() string
	// disturb has the server behind the store fail and come back, and says how; ""
	// when there is no server.
	disturb() (string, error)
	close() error
}

// storeConfig tells a process which store to open.
type storeConfig struct {
	Kind    string
	Address string // file or host:port, or several of these with commas between
	// Master is the name that the sentinels at Address have for the server, "" when
	// there are none.
	Master string
	// Retaining has settled events removed after a second.
	Retaining bool
}

// Kinds of stores.
const (
	kindSQLite  = "sqlite"
	kindRedis   = "redis"
	kindCluster = "cluster" // of Redis, for fleets
)

var kinds = []string{kindSQLite, kindRedis}

// retention is how long settled events stay in rounds that remove them.
const retention = time.Second

// opened is a store, and what it can do besides the ports.
type opened struct {
	storage.Store
	backup func(context.Context, string) error // nil when it makes none
}

// openStore opens a store in the process under test.
func openStore(ctx context.Context, cfg storeConfig) (opened, error) {
	if cfg.Kind != kindSQLite {
		return openRedis(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

// newBackend makes a store for a round, in a directory of its own.
func newBackend(kind, dir string, retaining bool) (backend, error) {
	if kind == kindRedis {
		return startRedis(dir, retaining)
	}
	return sqliteFile{dir, retaining}, nil
}
