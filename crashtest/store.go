package main

import (
	"context"

	"github.com/streamwatch/streamwatch/storage"
)

// backend is the store under test as the parent sees it. It hides the differences between the kinds
// of stores from the harness.
type backend interface {
	// config returns what a process needs to open the store.
	config() storeConfig
	// read returns the content of the store. No process may have the store open.
	read(ctx context.Context) (state, error)
	// disturb makes the server behind the store fail and come back. It returns false if there is no
	// server.
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

// newBackend makes a store for a round, in its own directory.
func newBackend(kind, dir string) (backend, error) {
	if kind == kindRedis {
		return startRedis(dir)
	}
	return sqliteFile{dir}, nil
}
