package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// postgresServer starts a server with PostgreSQL's own settings. It is nil without
// PostgreSQL, and a line says so.
func postgresServer(dir string, config ...string) (*pgtest.Instance, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // the server may run as another user
		return nil, fmt.Errorf("commit: %w", err)
	}
	server, err := pgtest.Start(filepath.Join(dir, "postgres"), config...)
	if errors.Is(err, pgtest.ErrNone) {
		fmt.Fprintln(os.Stderr, "commit: NO POSTGRESQL:", err)
		return nil, nil
	}
	return server, err
}

// postgresBackend has its tables in the database at a URL: ours in a schema for
// each store.
func postgresBackend(url string) backend {
	return backend{
		name: "PostgreSQL",
		open: func(name string) (storage.Store, error) {
			return postgres.Open(background, url, postgres.Options{Schema: "ours-" + name})
		},
		peers: []peer{
			{"pgx, INSERT of arrays", func(name string) (writer, error) { return openTable(url, name, (*table).insertGroup) }},
			{"pgx, COPY", func(name string) (writer, error) { return openTable(url, name, (*table).copyGroup) }},
		},
	}
}

// table is one with the columns of our events, and the driver of storage/postgres
// with one connection.
type table struct {
	conn   *pgx.Conn
	name   pgx.Identifier
	insert string
	n      int64 // rows
	fill   func(*table, *group) error
}

// openTable makes a table whose only index is that of the unique id.
func openTable(url, name string, fill func(*table, *group) error) (writer, error) {
	conn, err := pgx.Connect(background, url)
	if err != nil {
		return nil, err
	}
	b := &table{conn: conn, name: pgx.Identifier{"bare-" + name}, fill: fill}
	b.insert = "INSERT INTO " + b.name.Sanitize() + ` SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[],
		$5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
		$14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[],
		$21::text[], $22::bytea[]) ON CONFLICT DO NOTHING`
	_, err = conn.Exec(background, "CREATE TABLE "+b.name.Sanitize()+` (n bigint NOT NULL, id text COLLATE "C" NOT NULL UNIQUE,
		owner text NOT NULL, seq bigint NOT NULL, source_kind text NOT NULL, source_id text NOT NULL, source_name text NOT NULL,
		tweet_id text NOT NULL, author_username text NOT NULL, author_key text NOT NULL, text_preview text NOT NULL,
		tweet_url text NOT NULL, platform text NOT NULL, published_at bigint, earliest_at bigint, requested_at bigint,
		fetched_at bigint, detected_at bigint, committed_at bigint NOT NULL, latency bigint NOT NULL, handlers text, body bytea NOT NULL)`)
	if err != nil {
		return nil, errors.Join(err, conn.Close(background))
	}
	return b, nil
}

func (b *table) write(g *group) error { return b.fill(b, g) }

// row is the values of the n-th event.
func (b *table) row(g *group, i int) []any {
	ev := &g.events[i]
	n := b.n + int64(i) + 1
	return []any{n, ev.ID, ev.Source.Owner, n, string(ev.Source.Kind), ev.Source.ID, ev.Source.Name, ev.TweetID,
		ev.AuthorUsername, ev.AuthorUsername, ev.TextPreview, ev.TweetURL, ev.Platform, ev.PublishedAt.UnixNano(),
		ev.EarliestAt.UnixNano(), ev.RequestedAt.UnixNano(), ev.FetchedAt.UnixNano(), ev.DetectedAt.UnixNano(),
		ev.DetectedAt.UnixNano(), int64(ev.Latency), nil, ev.Body}
}

// insertGroup is a statement, and so a transaction, in one round trip. pgx prepares
// it the first time.
func (b *table) insertGroup(g *group) error {
	var columns []any
	for i := range g.events {
		for c, v := range b.row(g, i) {
			if i == 0 {
				columns = append(columns, column(v, len(g.events)))
			}
			switch list := columns[c].(type) {
			case []int64:
				list[i] = v.(int64)
			case []string:
				list[i] = v.(string)
			case [][]byte:
				list[i] = v.([]byte)
			}
		}
	}
	tag, err := b.conn.Exec(background, b.insert, columns...)
	b.n += tag.RowsAffected()
	return err
}

// column is an array for values like v: of null texts if that is nil.
func column(v any, size int) any {
	switch v.(type) {
	case int64:
		return make([]int64, size)
	case string:
		return make([]string, size)
	case []byte:
		return make([][]byte, size)
	}
	return make([]*string, size)
}

// copyGroup is a COPY, which has no ON CONFLICT.
func (b *table) copyGroup(g *group) error {
	n, err := b.conn.CopyFrom(background, b.name, tableColumns, pgx.CopyFromSlice(len(g.events), func(i int) ([]any, error) { return b.row(g, i), nil }))
	b.n += n
	return err
}

var tableColumns = []string{"n", "id", "owner", "seq", "source_kind", "source_id", "source_name", "tweet_id", "author_username",
	"author_key", "text_preview", "tweet_url", "platform", "published_at", "earliest_at", "requested_at", "fetched_at", "detected_at",
	"committed_at", "latency", "handlers", "body"}

func (b *table) rest() error { return nil }

func (b *table) stored() (n int, err error) {
	err = b.conn.QueryRow(background, "SELECT count(*) FROM "+b.name.Sanitize()).Scan(&n)
	return n, err
}

func (b *table) close() error { return b.conn.Close(background) }
