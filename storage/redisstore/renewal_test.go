package redisstore_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// The time until which a store's answers are kept is renewed by whichever call comes first,
// also by one that changes nothing.
func TestAnswersAreKeptByCallsThatWriteNothing(t *testing.T) {
	for _, row := range []struct {
		name string
		call func(*testing.T, *redisstore.Store)
	}{
		{"a claim of nothing", func(t *testing.T, s *redisstore.Store) {
			_, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Minute, Limit: 1})
			must(t, err)
		}},
		{"a refusal", func(t *testing.T, s *redisstore.Store) {
			wantErr(t, roles.Monitors(s.Ports().Records).Delete(t.Context(), "acme", "none"), monitor.ErrNotFound)
		}},
		{"a commit", func(t *testing.T, s *redisstore.Store) {
			must(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "t"}}}))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, server, _ := open(t, redisstore.Options{})
			row.call(t, s)
			clients, err := server.HKeys("{streamwatch}:clients")
			must(t, err)
			want(t, "stores whose answers are kept", len(clients), 1)
		})
	}
}
