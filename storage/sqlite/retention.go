package sqlite

import (
	"database/sql"
	"time"

	"github.com/streamwatch/streamwatch/storage/internal/crashpoint"
)

// tidyStep is how many rows of each kind a transaction removes at least, beside
// twice what it adds: enough to catch up, too little to be felt by a caller.
const tidyStep = 64

// forgottenUntil is the time at or before which a settled event is too old.
func (s *Store) forgottenUntil() int64 { return nanos(s.opts.Now().Add(-s.opts.Retention)) }

// tidy removes some of what is too old or too much. It runs at the end of every
// transaction, in it, so that nothing else has to wait for removals.
func (s *Store) tidy(t *tx) error {
	now := s.opts.Now()
	step := tidyStep + 2*t.added
	if err := s.forgetEvents(t, now, step); err != nil {
		return err
	}
	if err := s.forgetEntries(t, now, step); err != nil {
		return err
	}
	for _, table := range []string{"removed_events", "removed_entries", "resolved_reservations"} {
		err := t.exec(`DELETE FROM `+table+` WHERE n IN (`+tooMany(table)+`)`,
			step, s.opts.MaxEventIDs, nanos(now.Add(-s.opts.IDRetention)))
		if err != nil {
			return err
		}
	}
	return nil
}

// tooMany selects, among the ?1 oldest rows, those beyond the newest ?2 and
// those of before ?3. Rows are removed oldest first, so n has no holes.
func tooMany(table string) string {
	return `SELECT n FROM (SELECT n, recorded_at FROM ` + table + ` ORDER BY n LIMIT ?1)
		WHERE n <= (SELECT max(n) FROM ` + table + `) - ?2 OR recorded_at <= ?3`
}

// forgetEvents removes settled events, those that became so first going first,
// with their deliveries and attempts; the ids stay known.
func (s *Store) forgetEvents(t *tx, now time.Time, step int) error {
	var total int
	if _, err := one(t, `SELECT events FROM counts`, nil, &total); err != nil {
		return err
	}
	// Up to the excess, counted by n, which has holes only where the clock went
	// back: there it takes a few transactions more.
	var events []int64
	err := each(t, `SELECT event FROM (SELECT n, event, settled_at FROM settled ORDER BY n LIMIT ?1)
		WHERE n < (SELECT min(n) FROM settled) + ?2 OR settled_at <= ?3`,
		[]any{step, max(total-s.opts.MaxEvents, 0), s.forgottenUntil()}, func(rows *sql.Rows) error {
			var event int64
			err := rows.Scan(&event)
			events = append(events, event)
			return wrap(err)
		})
	if err != nil {
		return err
	}
	for _, event := range events {
		if err := t.exec(`INSERT INTO removed_events (id, recorded_at) SELECT id, ? FROM events WHERE n = ?`, nanos(now), event); err != nil {
			return err
		}
		crashpoint.Hit("sqlite.retention.event")
		if err := t.exec(`DELETE FROM events WHERE n = ?`, event); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return t.exec(`UPDATE counts SET events = events - ?`, len(events))
}

// forgetEntries removes the oldest ledger entries; the ids stay known.
func (s *Store) forgetEntries(t *tx, now time.Time, step int) error {
	old := tooMany("ledger_entries")
	args := []any{step, s.opts.MaxEntries, nanos(now.Add(-s.opts.EntryRetention))}
	err := t.exec(`INSERT INTO removed_entries (id, recorded_at) SELECT id, ?4 FROM ledger_entries WHERE n IN (`+old+`) ORDER BY n`,
		append(args, nanos(now))...)
	if err != nil {
		return err
	}
	return t.exec(`DELETE FROM ledger_entries WHERE n IN (`+old+`)`, args...)
}
