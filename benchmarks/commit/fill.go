package main

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

const (
	tenants = 100 // owners of the stored events, each with a monitor and its endpoint
	daysOf  = 7   // the default retention, over which events were settled
	idsDays = 30  // the default for ids, over which they were removed
)

func tenant(i int) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprintf("mon_tenant%03d", i), Owner: fmt.Sprintf("tenant%03d", i), Name: "their monitor"}
}

func endpointOf(i int) string { return fmt.Sprintf("wh_tenant%03d", i) }

// furnish gives the tenants their endpoints, and the accounts cursors.
func furnish(s storage.Store) error {
	for i := range tenants {
		ep, err := deliver.Endpoint{ID: endpointOf(i), Source: tenant(i), URL: "https://hooks.example.com/posts",
			Secret: "whsec_of_the_benchmark", Status: deliver.EndpointActive}.Record()
		if err == nil {
			_, err = s.Ports().Records.Apply(background, record.Change{Put: []record.Record{ep}})
		}
		if err != nil {
			return err
		}
	}
	return s.Ports().Journal.Commit(background, ways[0].batches(newGroup(0, accounts)))
}

// fill stores n events as they are after a week, the oldest of which expire in an
// hour, and the ids of n that were removed before. It writes the rows that commits and
// settlements would, by SQL, and leaves the tables as autovacuum would.
func fill(conn *pgx.Conn, schema string, n int) error {
	for _, sql := range []string{"SET search_path = " + pgx.Identifier{schema}.Sanitize(), "SET synchronous_commit = off",
		fmt.Sprintf("SELECT setval('event_numbers', %d)", firstStored+n)} {
		if _, err := conn.Exec(background, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	parts := make([]int64, tenants)
	for i := range parts {
		parts[i] = int64(fleet.PartOf(endpointOf(i)))
	}
	oldest := time.Now().Add(time.Hour - daysOf*24*time.Hour)
	oldestID := time.Now().Add(time.Hour - idsDays*24*time.Hour)
	args := pgx.NamedArgs{
		"n": n, "first": firstStored, "text": text, "size": bodySize, "tenants": tenants, "parts": parts,
		"oldest": oldest.UnixNano(), "step": time.Since(oldest).Nanoseconds() / int64(n),
		"oldestid": oldestID.UnixNano(), "stepid": time.Since(oldestID).Nanoseconds() / int64(n),
	}
	const chunk = 20_000
	for from := 0; from < n; from += chunk {
		args["from"], args["to"] = from, min(from+chunk, n)-1
		for _, sql := range fillings {
			if _, err := conn.Exec(background, sql, args); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
	}
	for _, sql := range []string{"VACUUM (ANALYZE)", "CHECKPOINT"} {
		if _, err := conn.Exec(background, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// firstStored is a number above those of the events of furnish.
const firstStored = 1 << 20

// fillings make the rows of events @from to @to, see storage/postgres/schema.sql. Ids
// sort by age, as those of deliver.EventID do, and before these.
var fillings = []string{
	`INSERT INTO owners (owner) SELECT 'tenant' || lpad(i::text, 3, '0') FROM generate_series(0, @tenants::int - 1) i ON CONFLICT DO NOTHING`,
	`INSERT INTO events SELECT @first + i, 'evt_' || lpad(to_hex(@n::bigint + i), 8, '0') || left(md5(i::text), 26),
		'tenant' || who, i / @tenants + 1, 'monitor', 'mon_tenant' || who, 'their monitor', (1800000000000000000 + i)::text,
		author, author, encode(substring(@text::bytea FROM at::int FOR 100), 'escape'), 'https://x.com/' || author || '/status/' || 1800000000000000000 + i,
		'', t - 3000000000, t - 2000000000, t - 1500000000, t - 1200000000, t - 1100000000, t - 1000000000, 2000000000, NULL,
		substring(@text::bytea FROM at::int FOR @size)
		FROM (SELECT i, lpad((i % @tenants)::text, 3, '0') AS who, 'account' || lpad((i * 617 % 1000)::text, 4, '0') AS author,
			1 + i * 977 % 64000 AS at, @oldest::bigint + i * @step::bigint AS t FROM generate_series(@from::bigint, @to) i) made`,
	`INSERT INTO deliveries (n, id, endpoint_id, part, state, attempts) SELECT (@first + i) << 16,
		'dlv_' || lpad(to_hex(@n::bigint + i), 8, '0') || left(md5('d' || i), 26), 'wh_tenant' || lpad((i % @tenants)::text, 3, '0'),
		(@parts::bigint[])[i % @tenants + 1], 'delivered', 1 FROM generate_series(@from::bigint, @to) i`,
	`INSERT INTO attempts SELECT (@first + i) << 16, 0, 1, @oldest::bigint + i * @step::bigint, 50000000, 200, '', 'ok'
		FROM generate_series(@from::bigint, @to) i`,
	`INSERT INTO settled SELECT @first + i, @oldest::bigint + i * @step::bigint FROM generate_series(@from::bigint, @to) i`,
	`INSERT INTO removed_events (id, recorded_at) SELECT 'evt_' || lpad(to_hex(i), 8, '0') || left(md5('r' || i), 26),
		@oldestid::bigint + i * @stepid::bigint FROM generate_series(@from::bigint, @to) i`,
}

// poll is the batches of polls that found events number from to from+size-1, which
// are the tenants' in turns.
func poll(from, size int) *group {
	g := newGroup(from, size)
	for i := range g.events {
		ev := &g.events[i]
		ev.Source = tenant((from + i) % tenants)
		ev.ID = deliver.EventID(ev.Source.ID, ev.TweetID)
	}
	return g
}

// deepPage is the query of a page of an owner's log far from the newest: after
// deepest entries, or in the middle of a shorter log.
func deepPage(s storage.Store, owner string, stored int) (deliver.LogQuery, error) {
	q := deliver.LogQuery{Owner: owner, NoTotal: true}
	for left := min(deepest, stored/tenants/2); left > 0; left -= q.PageSize {
		q.PageSize = min(left, deliver.MaxLogPage)
		page, err := s.Ports().Log.Deliveries(background, q)
		if err == nil && page.Next == "" {
			err = fmt.Errorf("the log of %s ends after %d entries", owner, len(page.Entries))
		}
		if err != nil {
			return q, err
		}
		q.Cursor = page.Next
	}
	q.PageSize = 0
	return q, nil
}

const deepest = 1000 * 20 // 1,000 pages
