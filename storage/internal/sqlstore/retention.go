package sqlstore

import (
	"cmp"
	"math"
	"time"
)

// expired returns the latest time at which an event was settled that is now past its retention.
// Such an event is not shown, even if it is not removed yet.
func (s *Store) expired() int64 { return nanos(s.Now().Add(-s.Retention)) }

// retained returns the SQL condition that the event with this number is not past its retention. The
// condition looks up only this event, because many others may be past their retention and not
// removed yet.
func retained(event, expired string) string {
	return `NOT EXISTS (SELECT 1 FROM settled past WHERE past.event = ` + event + ` AND past.settled_at <= ` + expired + `)`
}

// Removal removes rows that are too old or too many: after a write that added some, if there were
// more than Few since the last time, or a second has passed. A maximum of 0 is none.
type Removal struct {
	*Store
	IDRetention, EntryRetention        time.Duration
	MaxEvents, MaxEventIDs, MaxEntries int
	Few                                int
	Next                               time.Time // when few rows are enough
	added                              int       // since the last time
}

// RemoveStep is part of the most rows of each kind that are removed at a time: RemoveStep plus twice
// as many as were added. That is enough to catch up, and too few for callers to notice.
const RemoveStep = 64

// Due counts added rows, and returns how many rows of each kind to remove, 0 for none now.
func (r *Removal) Due(added int) (step int) {
	r.added += added
	if added == 0 || r.added <= r.Few && r.Now().Before(r.Next) {
		return 0
	}
	step = RemoveStep + 2*r.added
	r.added, r.Next = 0, r.Now().Add(time.Second)
	return step
}

// idQueues are the tables of remembered ids. Rows that are too old or too many are removed, the
// oldest first.
var idQueues = []string{"removed_events", "removed_entries", "resolved_reservations"}

// Remove removes up to step rows of each kind.
func (r *Removal) Remove(t Tx, step int) error {
	now := r.Now()
	maxIDs, maxEntries := cmp.Or(r.MaxEventIDs, math.MaxInt), cmp.Or(r.MaxEntries, math.MaxInt)
	// Events that became final first go first.
	ns, err := column[int64](t, r.Removable, step, r.MaxEvents, r.expired())
	if err != nil {
		return err
	}
	if len(ns) > 0 {
		err := t.Exec(`INSERT INTO removed_events (id, recorded_at) SELECT id, ?2 FROM events WHERE n IN {ints ?1} ORDER BY n`, Ints(ns), nanos(now))
		if err != nil {
			return err
		}
		if _, _, err := r.DropEvents(t, ns); err != nil {
			return err
		}
	}
	old := nanos(now.Add(-r.EntryRetention))
	err = t.Exec(`INSERT INTO removed_entries (id, recorded_at) SELECT id, ?4 FROM ledger_entries WHERE n IN (`+tooMany("ledger_entries")+`) ORDER BY n`,
		step, maxEntries, old, nanos(now))
	if err == nil {
		err = t.Exec(removeTooMany("ledger_entries"), step, maxEntries, old)
	}
	for _, table := range idQueues {
		if err == nil {
			err = t.Exec(removeTooMany(table), step, maxIDs, nanos(now.Add(-r.IDRetention)))
		}
	}
	return err
}

// removeTooMany removes what tooMany selects.
func removeTooMany(table string) string {
	return `DELETE FROM ` + table + ` WHERE n IN (` + tooMany(table) + `)`
}

// tooMany returns SQL that looks at the first ?1 rows of a table. It selects those that are not
// among the newest ?2 rows, and those recorded at ?3 or earlier.
func tooMany(table string) string {
	return `SELECT n FROM (SELECT n, recorded_at FROM ` + table + ` ORDER BY n LIMIT ?1) AS first
		WHERE recorded_at <= ?3 OR n <= (SELECT max(n) FROM ` + table + `) - ?2`
}

// DropEvents removes events with their deliveries and attempts. It returns the numbers of deliveries
// and attempts that it has removed.
func (s *Store) DropEvents(t Tx, events []int64) (deliveries, attempts int, err error) {
	if s.Dropping != "" {
		if err := t.Exec(s.Dropping, int64(len(events))); err != nil {
			return 0, 0, err
		}
	}
	of, err := column[int64](t, `SELECT d.n FROM {ints ?1} old {join} deliveries d ON `+ofEvent("d.n", "old.value"), Ints(events))
	if err != nil {
		return 0, 0, err
	}
	var none int
	for _, change := range []struct {
		count *int
		ns    []int64
		query string
	}{
		{&none, events, `INSERT INTO owners (owner, removed_seq) SELECT owner, max(seq) FROM events WHERE n IN {ints ?1} GROUP BY owner
			ON CONFLICT (owner) DO UPDATE SET removed_seq = {max}(owners.removed_seq, excluded.removed_seq)`},
		{&attempts, of, `DELETE FROM attempts WHERE delivery IN {ints ?}`},
		{&deliveries, of, `DELETE FROM deliveries WHERE n IN {ints ?}`},
		{&none, events, `DELETE FROM settled WHERE event IN {ints ?}`},
		{&none, events, `DELETE FROM events WHERE n IN {ints ?}`},
	} {
		n, err := t.Change(change.query, Ints(change.ns))
		if err != nil {
			return 0, 0, err
		}
		*change.count = int(n)
	}
	return deliveries, attempts, nil
}
