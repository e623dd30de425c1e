package main

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// backend is a store under test, as the parent has it. It is the only seam
// between the harness and what is tested.
type backend interface {
	// config is what a process needs to open the store.
	config() storeConfig
	// read gives what the store says while no process has it open.
	read(ctx context.Context) (state, error)
	// backups is where backups go, "" when the store makes none.
	backups() string
	// disturb makes what stands behind the store suffer, and says how; "" when
	// there is nothing.
	disturb() (string, error)
	close() error
}

// storeConfig tells a process which store to open.
type storeConfig struct {
	Kind    string
	Address string // file or host:port, or several of these with commas between
	// Master is the name that the sentinels at Address have for it, "" without any.
	Master string
	// Retaining removes what is settled after a second.
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

// opened is a store and what it can do beside the ports.
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
