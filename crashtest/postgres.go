package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // a driver of package sql

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// postgresServer is a PostgreSQL store with its own server, which syncs every commit to the disk. The
// server is sometimes killed, too.
type postgresServer struct{ server *pgtest.Instance }

// postgresSettings are for the largest fleet, and for who reads the log after a violation.
var postgresSettings = []string{"max_connections 1200", "log_lock_waits on", "log_min_duration_statement 1s", "log_parameter_max_length 0", "log_line_prefix '%m [%p] %x '"}

func startPostgres(dir string) (*postgresServer, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // the server may run as another user
		return nil, err
	}
	server, err := pgtest.Start(filepath.Join(dir, "postgres"), postgresSettings...)
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
	return postgres.Open(ctx, postgresURL(cfg.Address), postgres.Options{})
}

func postgresURL(address string) string {
	return fmt.Sprintf("postgres://%s@%s/%[1]s?sslmode=disable", pgtest.Role, address)
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

// read reads the state with SQL. The next process finds what the kill has left: the store would make
// tables if it were opened.
func (s *postgresServer) read(ctx context.Context) (state, error) {
	if err := s.alone(ctx); err != nil {
		return state{}, err
	}
	return readSQL(ctx, inPostgres, postgresURL(s.server.Addr())+"&search_path=streamwatch")
}

var inPostgres = dialect{
	driver: "pgx",
	tables: `SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('streamwatch')`,
	object: "json_build_object(",
	flag:   func(condition string) string { return condition },
	fields: "convert_from(data, 'UTF8')::json",
	time: func(column string) string {
		return `to_char(to_timestamp(` + column + ` / 1000000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.') || lpad((` + column + ` % 1000000000)::text, 9, '0') || 'Z'`
	},
}
