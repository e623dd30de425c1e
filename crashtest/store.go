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
	kindSQLite   = "sqlite"
	kindRedis    = "redis"
	kindPostgres = "postgres"
)

var (
	kinds       = []string{kindSQLite, kindRedis, kindPostgres}
	sharedKinds = []string{kindRedis, kindPostgres} // a fleet can share them
)

// openStore opens a store in the process under test.
func openStore(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	switch cfg.Kind {
	case kindRedis:
		return openRedis(ctx, cfg)
	case kindPostgres:
		return openPostgres(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

// newBackend makes a store for a round, in its own directory.
func newBackend(kind, dir string) (backend, error) {
	switch kind {
	case kindRedis:
		return startRedis(dir)
	case kindPostgres:
		return startPostgres(dir)
	}
	return sqliteFile{dir}, nil
}
