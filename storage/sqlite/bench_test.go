package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

var groups = []int{1, 16, 256}

// newBatches makes n batches of one event of 1 KB, numbered from from, each with
// a cursor and a charge.
func newBatches(from, n int) []*detect.Batch {
	batches := make([]*detect.Batch, n)
	for i := range batches {
		id := fmt.Sprint(from + i)
		ev := newEvent(acme, id)
		ev.Body = make([]byte, 1024)
		batches[i] = &detect.Batch{
			Cursor: &detect.Cursor{Target: fmt.Sprint(i), Since: start}, Events: []deliver.Event{ev}, DeliverBy: at(30),
			Charges: []billing.Entry{{ID: id, Owner: "acme", Amount: -1}},
		}
	}
	return batches
}

// BenchmarkCommit commits groups of batches, each with one event, its delivery,
// a charge and a cursor; every commit is synced to the disk.
func BenchmarkCommit(b *testing.B) {
	for _, group := range groups {
		b.Run(fmt.Sprintf("events=%d", group), func(b *testing.B) {
			s, _ := open(b, sqlite.Options{})
			bind(b, s, acme, "a")
			must(b, s.Ledger().Append(b.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 1 << 50}))
			n := 0
			for b.Loop() {
				must(b, s.Journal().Commit(b.Context(), newBatches(n, group)))
				n += group
			}
			perEvent(b, group)
		})
	}
}

// BenchmarkCommitters commits the same batches from as many callers at once, one
// each, which share transactions.
func BenchmarkCommitters(b *testing.B) {
	for _, callers := range groups {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, _ := open(b, sqlite.Options{})
			bind(b, s, acme, "a")
			must(b, s.Ledger().Append(b.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 1 << 50}))
			n := 0
			for b.Loop() {
				var results []<-chan error
				for _, batch := range newBatches(n, callers) {
					results = append(results, background(func() error {
						return s.Journal().Commit(b.Context(), []*detect.Batch{batch})
					}))
				}
				for _, result := range results {
					must(b, <-result)
				}
				n += callers
			}
			perEvent(b, callers)
		})
	}
}

// BenchmarkBareInsert puts as many bodies with a unique id, and nothing else, into a
// table by the same driver, synced as the store is: the least that a commit costs.
func BenchmarkBareInsert(b *testing.B) {
	for _, group := range groups {
		b.Run(fmt.Sprintf("events=%d", group), func(b *testing.B) {
			db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
			must(b, err)
			defer db.Close()
			db.SetMaxOpenConns(1)
			_, err = db.Exec("CREATE TABLE events (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)")
			must(b, err)
			insert, err := db.Prepare("INSERT INTO events (id, body) VALUES (?, ?)")
			must(b, err)
			defer insert.Close()
			n := 0
			for b.Loop() {
				tx, err := db.Begin()
				must(b, err)
				in := tx.Stmt(insert)
				for _, batch := range newBatches(n, group) {
					_, err := in.Exec(batch.Events[0].ID, batch.Events[0].Body)
					must(b, err)
				}
				must(b, tx.Commit())
				n += group
			}
			perEvent(b, group)
		})
	}
}

// BenchmarkClaim claims 64 of 20,000 deliveries to 200 endpoints, a tenth of
// which has no room.
func BenchmarkClaim(b *testing.B) {
	const pending, endpoints, limit = 20_000, 200, 64
	s, _ := open(b, sqlite.Options{})
	batch := &detect.Batch{DeliverBy: start}
	for i := range pending {
		batch.Events = append(batch.Events, handled(acme, fmt.Sprint(i), fmt.Sprint(i%endpoints)))
	}
	commit(b, s, batch)
	var skip []string
	for i := range endpoints / 10 {
		skip = append(skip, deliver.HandlerEndpoint(fmt.Sprint(i*10)))
	}
	for _, row := range []struct {
		name string
		skip []string
	}{{"any", nil}, {"skip=20", skip}} {
		b.Run(row.name, func(b *testing.B) {
			now := start
			for b.Loop() {
				ds, err := s.Outbox().Claim(b.Context(), deliver.ClaimRequest{Now: now, Limit: limit, Skip: row.skip})
				if err != nil || len(ds) != limit {
					b.Fatal(len(ds), err)
				}
			}
			perEvent(b, limit)
		})
	}
}

func perEvent(b *testing.B, group int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(group)/1000, "µs/event")
}
