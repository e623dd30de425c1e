package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func apply(t testing.TB, s *sqlite.Store, c record.Change) uint64 {
	t.Helper()
	n, err := s.Ports().Records.Apply(context.Background(), c)
	must(t, err)
	return n
}

// createWithEndpoint is what creating a monitor with a webhook does.
func createWithEndpoint(id string) record.Change {
	m := record.Key{Kind: record.Monitor, ID: id}
	sources := []record.Kind{record.Monitor, record.Rule}
	return record.Change{
		Put: []record.Record{
			{Key: m, Owner: "acme", Name: "name " + id, Status: "active", Size: 10, Price: 5, CreatedAt: start, UpdatedAt: start, Data: make([]byte, 600)},
			{Key: record.Key{Kind: record.Endpoint, ID: "endpoint " + id}, Owner: "acme", Parent: m, Name: "https://example.com/" + id,
				Status: "active", CreatedAt: start, UpdatedAt: start, Data: make([]byte, 600)},
		},
		Limits: []record.Limit{
			{Owner: "acme", Kinds: sources, Of: record.Count, Max: 1e9},
			{Owner: "acme", Kinds: sources, Of: record.Size, Max: 1e9},
			{Owner: "acme", Kinds: sources, Status: "active", Of: record.Price, Max: 1e9},
			{Owner: "acme", Kinds: []record.Kind{record.Endpoint}, Parent: m, Of: record.Count, Max: 100},
		},
	}
}

// BenchmarkApply creates a monitor with an endpoint, under four limits, beside 10,000 of each.
func BenchmarkApply(b *testing.B) {
	for _, sync := range []string{"OFF", "FULL"} {
		b.Run("sync="+sync, func(b *testing.B) {
			defer sqlite.SetSynchronous(sync)()
			s, _ := openAt(b, filepath.Join(b.TempDir(), "bench.db"), sqlite.Options{})
			fill := record.Change{}
			for i := range 10_000 {
				fill.Put = append(fill.Put, createWithEndpoint(fmt.Sprint("old ", i)).Put...)
				if len(fill.Put) == record.MaxChange {
					apply(b, s, fill)
					fill.Put = nil
				}
			}
			for n := 0; b.Loop(); n++ {
				if _, err := s.Ports().Records.Apply(b.Context(), createWithEndpoint(fmt.Sprint(n))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
