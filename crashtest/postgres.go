package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// postgresServer is a PostgreSQL store with its own server, which syncs every commit to the disk. The
// server is sometimes killed, too.
type postgresServer struct{ server *pgtest.Instance }

// enoughConnections is for the largest fleet.
const enoughConnections = "max_connections 1200"

func startPostgres(dir string) (*postgresServer, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // the server may run as another user
		return nil, err
	}
	server, err := pgtest.Start(filepath.Join(dir, "postgres"), enoughConnections)
	if err != nil {
		return nil, fmt.Errorf("crashtest: %w", err)
	}
	return &postgresServer{server}, nil
}

func (s *postgresServer) config() storeConfig {
	return storeConfig{Kind: kindPostgres, Address: s.server.Addr()}
}

func (s *postgresServer) disturb() (bool, error) { return true, s.server.Restart() }
func (s *postgresServer) close() error           { return s.server.Close() }

func openPostgres(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	url := fmt.Sprintf("postgres://%s@%s/%[1]s?sslmode=disable", pgtest.Role, cfg.Address)
	return postgres.Open(ctx, url, postgres.Options{})
}

// alone waits until the server has carried out all that the killed process has sent, and has closed
// its connections.
func (s *postgresServer) alone(ctx context.Context) error {
	for began := time.Now(); ; {
		others, err := s.server.Value(`SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
		if err == nil && others == int64(0) {
			return nil
		}
		if time.Since(began) > answersWithin {
			return errors.Join(fmt.Errorf("crashtest: PostgreSQL at %s has other clients: %v", s.server.Addr(), others), err)
		}
		if !pause(ctx, 2*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// read reads the state through the store's ports, if the tables are there: it makes none, because
// the next process must find what the kill has left.
func (s *postgresServer) read(ctx context.Context) (st state, err error) {
	if err := s.alone(ctx); err != nil {
		return st, err
	}
	made, err := s.server.Value(`SELECT to_regnamespace('streamwatch') IS NOT NULL`)
	if err != nil || made == false {
		return st, err
	}
	store, err := openPostgres(ctx, s.config())
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	return st, readPorts(ctx, store, &st)
}
