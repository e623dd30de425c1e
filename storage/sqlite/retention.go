package sqlite

import "time"

// removeStep is part of the maximum number of rows of each kind that are removed at a time:
// removeStep plus twice as many as were added since the last time. That is enough to catch up, and
// too few for callers to notice.
const removeStep = 64

// expired returns the latest time at which an event was settled that is now past its retention.
// Such an event is not shown, even if it is not removed yet.
func (s *Store) expired() int64 { return nanos(s.opts.Now().Add(-s.opts.Retention)) }

// retained returns the SQL condition that the event with this number is not past its retention. The
// condition looks up only this event, because many others may be past their retention and not
// removed yet.
func retained(event, expired string) string {
	return `NOT EXISTS (SELECT 1 FROM settled past WHERE past.event = ` + event + ` AND past.settled_at <= ` + expired + `)`
}

// retainedOfAll is like retained, for a query that reads all events of an owner. It reads the list
// of events past their retention once.
func retainedOfAll(event, expired string) string {
	return event + ` NOT IN (SELECT event FROM settled WHERE settled_at <= ` + expired + `)`
}

// retention removes records that are too old or too many. A transaction that adds some removes
// some, but a transaction for few rows only once a second.
type retention struct {
	opts  Options
	added int       // number of rows added since the last removal
	next  time.Time // when few rows are enough
}

// due reports whether a transaction that has added some rows removes some.
func (r *retention) due(added int) bool {
	r.added += added
	few := min(4*removeStep, r.opts.MaxEvents/100, r.opts.MaxEventIDs/100, r.opts.MaxEntries/100)
	return added > 0 && (r.added > few || !r.opts.Now().Before(r.next))
}

// idQueues are the tables of remembered ids. Rows that are too old or too many are removed, the
// oldest first.
var idQueues = []string{"removed_events", "removed_entries", "resolved_reservations"}

// remove removes some of the records that are too old or too many.
func (r *retention) remove(t *tx) error {
	now := r.opts.Now()
	step := removeStep + 2*r.added
	r.added, r.next = 0, now.Add(time.Second)
	if err := r.removeEvents(t, now, step); err != nil {
		return err
	}
	err := t.exec(`INSERT INTO removed_entries (id, recorded_at) SELECT id, ?4 FROM ledger_entries WHERE n IN (`+tooMany("ledger_entries")+`) ORDER BY n`,
		step, r.opts.MaxEntries, nanos(now.Add(-r.opts.EntryRetention)), nanos(now))
	if err != nil {
		return err
	}
	if err := t.drop("ledger_entries", step, r.opts.MaxEntries, now.Add(-r.opts.EntryRetention)); err != nil {
		return err
	}
	for _, table := range idQueues {
		if err := t.drop(table, step, r.opts.MaxEventIDs, now.Add(-r.opts.IDRetention)); err != nil {
			return err
		}
	}
	return nil
}

// drop looks at the first step rows of a table. It deletes those recorded at before or earlier, and
// those that are not among the newest most rows.
func (t *tx) drop(table string, step, most int, before time.Time) error {
	return t.exec(`DELETE FROM `+table+` WHERE n IN (`+tooMany(table)+`)`, step, most, nanos(before))
}

// tooMany returns SQL that looks at the first ?1 rows of a table. It selects those that are not
// among the newest ?2 rows, and those recorded at ?3 or earlier.
func tooMany(table string) string {
	return `SELECT n FROM (SELECT n, recorded_at FROM ` + table + ` ORDER BY n LIMIT ?1)
		WHERE recorded_at <= ?3 OR n <= (SELECT max(n) FROM ` + table + `) - ?2`
}

// removeEvents removes settled events with their deliveries and attempts, in the order in which
// they were settled. It remembers their ids.
func (r *retention) removeEvents(t *tx, now time.Time, step int) error {
	var stored int
	if _, err := one(t, `SELECT `+newestEvent+` - removed FROM totals`, nil, &stored); err != nil {
		return err
	}
	// Of the first step settled events, those past their retention come first, and those too many.
	events, err := column[int64](t, `SELECT event FROM settled ORDER BY settled_at, event
		LIMIT min(?1, max(?2, (SELECT count(*) FROM (SELECT 1 FROM settled WHERE settled_at <= ?3 LIMIT ?1))))`,
		step, stored-r.opts.MaxEvents, nanos(now.Add(-r.opts.Retention)))
	if err != nil || len(events) == 0 {
		return err
	}
	err = t.exec(`INSERT INTO removed_events (id, recorded_at) SELECT id, ?2 FROM events WHERE n IN (SELECT value FROM json_each(?1)) ORDER BY n`, jsonColumn{events}, nanos(now))
	if err != nil {
		return err
	}
	_, _, err = dropEvents(t, events)
	return err
}

// dropEvents removes events with their deliveries and attempts. It returns the numbers of
// deliveries and attempts that it has removed.
func dropEvents(t *tx, events []int64) (deliveries, attempts int, err error) {
	var newest int
	if _, err := one(t, `SELECT `+newestEvent, nil, &newest); err != nil {
		return 0, 0, err
	}
	const old = `(SELECT value FROM json_each(?1))`
	of := `(SELECT d.n FROM json_each(?1) old CROSS JOIN deliveries d ON ` + ofEvent("d.n", "old.value") + `)`
	var none int
	for _, change := range []struct {
		count *int
		query string
	}{
		{&none, `INSERT INTO owners (owner, removed_seq) SELECT owner, max(seq) FROM events WHERE n IN ` + old + ` GROUP BY owner
			ON CONFLICT DO UPDATE SET removed_seq = max(removed_seq, excluded.removed_seq)`},
		{&attempts, `DELETE FROM attempts WHERE delivery IN ` + of},
		{&deliveries, `DELETE FROM deliveries WHERE n IN ` + of},
		{&none, `DELETE FROM settled WHERE event IN ` + old},
		{&none, `DELETE FROM events WHERE n IN ` + old},
	} {
		n, err := t.change(change.query, jsonColumn{events})
		if err != nil {
			return 0, 0, err
		}
		*change.count = int(n)
	}
	return deliveries, attempts, t.exec(`UPDATE totals SET newest = ?, removed = removed + ?`, newest, len(events))
}
