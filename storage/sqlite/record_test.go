package sqlite_test

import (
	"context"
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
