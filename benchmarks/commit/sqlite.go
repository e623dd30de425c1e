package main

import (
	"database/sql"
	"errors"
	"path/filepath"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func memoryBackend() backend {
	return backend{name: "memory", open: func(string) (storage.Store, error) { return memory.New(memory.Options{}), nil }}
}

// sqliteBackend has its files in dir.
func sqliteBackend(dir string) backend {
	file := func(kind, name string) string { return filepath.Join(dir, kind+"-"+name+".db") }
	return backend{
		name: "SQLite",
		open: func(name string) (storage.Store, error) {
			return sqlite.Open(background, file("ours", name), sqlite.Options{})
		},
		peers: []peer{{"modernc, unique id", func(name string) (writer, error) { return openBare(file("bare", name)) }}},
	}
}

// bare is the driver of storage/sqlite and nothing else.
type bare struct {
	db     *sql.DB
	insert *sql.Stmt
}

// openBare makes a table of bodies. It is synced as storage/sqlite is, and has pages
// of SQLite's own size, which suit small rows.
func openBare(path string) (*bare, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=temp_store(MEMORY)&_pragma=cache_size(-16384)&_pragma=wal_autocheckpoint(1000)&_pragma=journal_size_limit(67108864)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	b := &bare{db: db}
	if _, err = db.Exec("CREATE TABLE records (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"); err == nil {
		b.insert, err = db.Prepare("INSERT INTO records (id, body) VALUES (?, ?)")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return b, nil
}

func (b *bare) write(g *group) error {
	tx, err := b.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing after Commit
	in := tx.Stmt(b.insert)
	for i, body := range g.bodies {
		if _, err := in.Exec(g.ids[i], body); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (b *bare) rest() error { return nil }

func (b *bare) stored() (n int, err error) {
	err = b.db.QueryRow("SELECT count(*) FROM records").Scan(&n)
	return n, err
}

func (b *bare) close() error { return errors.Join(b.insert.Close(), b.db.Close()) }
