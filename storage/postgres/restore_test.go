package postgres_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage/postgres"
)

// A restored copy gets epochs of its own by the statements of the documentation. What it and the
// original find later has the same numbers, but other epochs and other ids of deliveries.
func TestRestoredCopy(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	must(t, err)
	statements := regexp.MustCompile(`(?m)^//\t(UPDATE .*;)$`).FindAllSubmatch(doc, -1)
	if len(statements) != 2 {
		t.Fatalf("the documentation has %d statements, want 2", len(statements))
	}
	server := pgtest.Single(t, "fsync off")
	urls := []string{server.NewDatabase(t), ""}
	s, err := postgres.Open(t.Context(), urls[0], postgres.Options{})
	must(t, err)
	must(t, s.Ports().Journal.Commit(t.Context(), batches(event("acme", "1"))))
	must(t, s.Close(context.Background()))
	name := urls[0][strings.LastIndex(urls[0], "/")+1 : strings.Index(urls[0], "?")]
	server.Exec("CREATE DATABASE restored TEMPLATE " + name + " OWNER " + pgtest.Role)
	urls[1] = strings.Replace(urls[0], "/"+name+"?", "/restored?", 1)
	for _, statement := range statements {
		execute(t, urls[1], string(statement[1]))
	}

	epochs, ids := map[uint64]bool{}, map[string]bool{}
	for _, url := range urls {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		must(t, err)
		defer s.Close(context.Background())
		epoch, err := s.Ports().Log.Epoch(t.Context())
		must(t, err)
		epochs[epoch] = true
		b := batches(event("acme", "2"))
		must(t, s.Ports().Journal.Commit(t.Context(), b))
		if seq := b[0].Events[0].Seq; seq != 2 {
			t.Errorf("number %d, want 2", seq)
		}
		ids[b[0].Deliveries[0].ID] = true
	}
	if len(epochs) != 2 || !epochs[0] || len(ids) != 2 {
		t.Errorf("epochs %v and ids of deliveries %v, want two of each, and epoch 0 of the original", epochs, ids)
	}
}
