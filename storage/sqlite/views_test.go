package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What a person sees who opens the file with the sqlite3 program.
func TestViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	bind(t, s, acme, "wh_1")
	ev := newEvent(acme, "1")
	ev.PublishedAt, ev.DetectedAt, ev.Latency = start.Add(-1500*time.Millisecond), start.Add(-time.Millisecond), 1499*time.Millisecond
	b := &detect.Batch{Events: []deliver.Event{ev}, DeliverBy: start.Add(time.Minute), Cursor: &detect.Cursor{Target: "nasa", Since: start, UserID: "7"}}
	commit(t, s, b)
	d := b.Deliveries[0]
	must(t, s.Ports().Outbox.Settle(t.Context(), deliver.Settlement{
		DeliveryID: d.ID, State: deliver.StateRetrying, Due: start.Add(2 * time.Minute),
		Attempt: &deliver.Attempt{N: 1, At: start.Add(time.Second), Duration: 250 * time.Millisecond, StatusCode: 503, Error: "HTTP 503"},
	}))
	must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Kind: billing.KindTopUp, Amount: 2500, At: start}))
	bind(t, s, acme, "wh_2")
	commitAt(t, s, start.Add(time.Minute), newEvent(acme, "2"))
	must(t, roles.Endpoints(s.Ports().Records).Delete(t.Context(), "acme", "wh_2"))
	for _, row := range []struct{ query, want string }{
		{"SELECT state, owner, source_name, url, author_username, attempts FROM delivery_log WHERE tweet_id = '1'",
			"retrying|acme|name of m1|https://example.com/wh_1|NASA|1"},
		{"SELECT published, detected, committed, latency_ms FROM delivery_log WHERE tweet_id = '1'",
			"2025-03-01T11:59:58.500Z|2025-03-01T11:59:59.999Z|2025-03-01T12:00:00.000Z|1499"},
		{"SELECT created, due FROM delivery_log WHERE tweet_id = '1'", "2025-03-01T12:00:00.000Z|2025-03-01T12:02:00.000Z"},
		{"SELECT count(*) FROM delivery_log WHERE created >= '2025-03-01' AND created < '2025-03-02'", "3"},
		{"SELECT group_concat(endpoint_id || ' ' || state || ' ' || endpoint_deleted, ', ') FROM delivery_log",
			"wh_1 retrying 0, wh_1 pending 0, wh_2 failed 1"},
		{"SELECT attempt, at, duration_ms, status_code, error FROM attempt_log", "1|2025-03-01T12:00:01.000Z|250|503|HTTP 503"},
		{"SELECT owner, at, kind, credits, balance_credits FROM billing_log", "acme|2025-03-01T12:00:00.000Z|top_up|2.5|2.5"},
		{"SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND sql LIKE '%secret%'", "0"},
		// The tables themselves.
		{"SELECT owner, seq, tweet_id, CAST(body AS TEXT) FROM events ORDER BY n DESC", `acme|2|2|{"tweet_id":"2"}`},
		{"SELECT d.endpoint_id, d.attempts FROM deliveries d JOIN events e ON e.n = d.event WHERE e.tweet_id = '1'", "wh_1|1"},
		{"SELECT target, since / 1000000000, user_id FROM cursors", fmt.Sprint("nasa|", start.Unix(), "|7")},
		{"SELECT owner, available FROM owners", "acme|2500"},
		{"SELECT sql LIKE '%-- without holes but for removed events%' FROM sqlite_schema WHERE name = 'events'", "1"},
	} {
		t.Run(row.query, func(t *testing.T) {
			rows, err := raw(t, path).QueryContext(t.Context(), row.query)
			must(t, err)
			defer rows.Close()
			columns, err := rows.Columns()
			must(t, err)
			if !rows.Next() {
				t.Fatal("no row")
			}
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			must(t, rows.Scan(values...))
			var got []string
			for _, v := range values {
				got = append(got, fmt.Sprint(*v.(*any)))
			}
			want(t, "row", strings.Join(got, "|"), row.want)
		})
	}
}

// The queries that doc.go shows can be asked.
func TestDocumentedQueries(t *testing.T) {
	path := newFile(t)
	asked := 0
	for line := range strings.Lines(string(read(t, "doc.go"))) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "//\tsqlite3 -readonly streams.db \"")
		if !ok {
			continue
		}
		run(t, raw(t, path), strings.TrimSuffix(command, `"`))
		asked++
	}
	want(t, "queries in doc.go", asked, 3)
}
