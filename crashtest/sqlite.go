package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// sqliteFile is an SQLite store as the parent sees it: a file that it reads with its own SQL.
type sqliteFile struct{ dir string }

func (s sqliteFile) path() string { return filepath.Join(s.dir, "store.db") }

func (s sqliteFile) config() storeConfig    { return storeConfig{Kind: kindSQLite, Address: s.path()} }
func (s sqliteFile) disturb() (bool, error) { return false, nil }
func (s sqliteFile) close() error           { return nil }

func openSQLite(ctx context.Context, cfg storeConfig) (storage.Store, error) {
	return sqlite.Open(ctx, cfg.Address, sqlite.Options{})
}

// read reads a copy of the files. The next process finds the originals as the kill has left them.
func (s sqliteFile) read(ctx context.Context) (state, error) {
	dir, err := os.MkdirTemp(s.dir, "copy")
	if err != nil {
		return state{}, err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		content, err := os.ReadFile(s.path() + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "copy.db"+suffix), content, 0o600)
		}
		if err != nil {
			return state{}, err
		}
	}
	return readSQL(ctx, inSQLite, "file:"+filepath.Join(dir, "copy.db"))
}

var inSQLite = dialect{
	driver: "sqlite",
	tables: `SELECT count(*) FROM sqlite_schema`, // none: the file is still empty
	damage: `SELECT json_object('What', 'damaged file: ' || integrity_check) FROM pragma_integrity_check WHERE integrity_check <> 'ok'`,
	object: "json_object(",
	flag:   func(condition string) string { return `json(iif(` + condition + `, 'true', 'false'))` },
	fields: "CAST(data AS TEXT)",
	time: func(column string) string {
		return `strftime('%Y-%m-%dT%H:%M:%S', ` + column + ` / 1000000000, 'unixepoch') || printf('.%09dZ', ` + column + ` % 1000000000)`
	},
}
