package main

import (
	"context"

	"github.com/streamwatch/streamwatch/storage"
)

// backend is the store under test, as the parent process sees it. All that the
// harness has to know of a kind of store is behind it.
type backend interface {
	// config is what a process needs to open the store.
	config() storeConfig
	// read returns what the store holds. No process may have it open.
	read(ctx context.Context) (state, error)
	// disturb has the server behind the store fail and come back, and reports
	// whether there is one.
	disturb() (bool, error)
	close() error
}

// storeConfig tells a process which store to open.
type storeConfig struct {
	Kind    string
	Address string // file or host:port
}

// Kinds of stores.
const (
	kindSQLite = "sqlite"
	kindRedis  = "redis"
)

var kinds = []string{kindSQLite, kindRedis}

// openStore opens a store in the process under test.
func openStore(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	if cfg.Kind == kindRedis {
		return openRedis(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

// newBackend makes a store for a round, in a directory of its own.
func newBackend(kind, dir string) (backend, error) {
	if kind == kindRedis {
		return startRedis(dir)
	}
	return sqliteFile{dir}, nil
}
