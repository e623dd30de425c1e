package sqlite

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// tidyStep is how many rows of each kind a transaction removes at least, beside
// twice what it adds: enough to catch up, too little to be felt by a caller.
const tidyStep = 64

// forgottenUntil is the time at or before which a settled event is too old.
func (s *Store) forgottenUntil() int64 { return nanos(s.opts.Now().Add(-s.opts.Retention)) }

// queues are the tables whose rows are removed when they are too old or, in the
// order in which they were made, too many.
var queues = []string{"ledger_entries", "removed_events", "removed_entries", "resolved_reservations"}

// retained is how many events there are.
func (t *tx) retained() int { return t.w.known.events + t.events - t.w.known.removed - t.removed }

// stockQuery asks what there may be to remove: the event that was settled first,
// and of each queue how many rows and the oldest.
var stockQuery = func() string {
	query := `SELECT (SELECT min(settled_at) FROM settled)`
	for _, queue := range queues {
		query += fmt.Sprintf(`, (SELECT coalesce(max(n) - min(n) + 1, 0) FROM %[1]s), (SELECT min(recorded_at) FROM %[1]s)`, queue)
	}
	return query
}()

// untidy says whether something is too old or too much. What was added since it
// was last asked, and the time, tell when the answer may have become another.
func (s *Store) untidy(t *tx) (bool, error) {
	now := s.opts.Now()
	old := &t.w.known.old
	old.room -= t.events + t.entries + t.resolved
	if old.room > 0 && !now.Before(old.at) && now.Before(old.until) {
		return false, nil
	}
	limits := []struct {
		most int
		age  time.Duration
	}{{s.opts.MaxEvents, s.opts.Retention}, {s.opts.MaxEntries, s.opts.EntryRetention},
		{s.opts.MaxEventIDs, s.opts.IDRetention}, {s.opts.MaxEventIDs, s.opts.IDRetention}, {s.opts.MaxEventIDs, s.opts.IDRetention}}
	rows, oldest := make([]int, len(limits)), make([]sql.NullInt64, len(limits))
	into := []any{&oldest[0]}
	for i := range queues {
		into = append(into, &rows[i+1], &oldest[i+1])
	}
	rows[0] = t.retained()
	if _, err := one(t, stockQuery, nil, into...); err != nil {
		return false, err
	}
	if at, any := t.late.settledFirst(); any && (!oldest[0].Valid || at < oldest[0].Int64) {
		oldest[0] = sql.NullInt64{Int64: at, Valid: true}
	}
	old.room, old.at, old.until = math.MaxInt, now, lastTime
	for i, l := range limits {
		until := now.Add(l.age) // of what is added from now on
		if first := timeOf(oldest[i].Int64).Add(l.age); oldest[i].Valid && first.Before(until) {
			until = first
		}
		if !until.After(now) || rows[i] > l.most && (i > 0 || oldest[i].Valid) {
			old.room = 0
			return true, nil
		}
		if until.Before(old.until) {
			old.until = until
		}
		old.room = min(old.room, l.most-rows[i])
	}
	return false, nil
}

// tidy removes some of what is too old or too much. It runs at the end of every
// transaction, in it, so that nothing else has to wait for removals.
func (s *Store) tidy(t *tx) error {
	now := s.opts.Now()
	step := tidyStep + 2*(t.events+t.entries)
	if err := s.forgetEvents(t, now, step); err != nil {
		return err
	}
	if err := s.forgetEntries(t, now, step); err != nil {
		return err
	}
	old := []any{step, s.opts.MaxEventIDs, nanos(now.Add(-s.opts.IDRetention))}
	n, err := t.change(`DELETE FROM event_ids WHERE id IN (SELECT id FROM removed_events WHERE n IN (`+tooMany("removed_events")+`))`, old...)
	if err != nil {
		return err
	}
	if n > 0 {
		t.w.known.ids = nil // they are not known any more
	}
	for _, table := range []string{"removed_events", "removed_entries", "resolved_reservations"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE n IN (`+tooMany(table)+`)`, old...); err != nil {
			return err
		}
	}
	return nil
}

// tooMany selects up to ?1 rows beyond the newest ?2, and as many of before ?3.
// These need not be the first: a clock that was ahead has left some that stay
// longer. Then n has holes, and fewer than ?2 may be kept.
func tooMany(table string) string {
	return `SELECT n FROM (SELECT n FROM ` + table + ` WHERE n <= (SELECT max(n) FROM ` + table + `) - ?2 ORDER BY n LIMIT ?1)
		UNION SELECT n FROM (SELECT n FROM ` + table + ` WHERE recorded_at <= ?3 ORDER BY recorded_at LIMIT ?1)`
}

// forgetEvents removes settled events, those that became so first going first,
// with their deliveries and attempts; the ids stay known.
func (s *Store) forgetEvents(t *tx, now time.Time, step int) error {
	total, tooOld := t.retained(), s.forgottenUntil()
	old, err := t.settledFirst(tooOld, total-s.opts.MaxEvents, step)
	// Late ones may have to go instead of some of these, or beside them.
	at, any := t.late.settledFirst()
	if err == nil && (any && (at <= tooOld || at <= old.at || len(old.events) < min(step, total-s.opts.MaxEvents)) ||
		slices.ContainsFunc(old.events, func(n int64) bool { return n>>packBits > t.late.entered })) {
		if err = t.enter(); err == nil {
			old, err = t.settledFirst(tooOld, total-s.opts.MaxEvents, step)
		}
	}
	if err != nil || len(old.events) == 0 {
		return err
	}
	events := old.events
	if err := t.forgetPacked(events, now); err != nil {
		return err
	}
	list, err := listJSON(events)
	if err != nil {
		return err
	}
	crashpoint.Hit("sqlite.retention.event")
	deliveries := `SELECT d.n FROM json_each(?1) old CROSS JOIN deliveries d ON ` + ofEvent("d.n", "old.value")
	for _, removal := range []string{
		`DELETE FROM attempts WHERE delivery IN (` + deliveries + `)`,
		`DELETE FROM deliveries WHERE n IN (` + deliveries + `)`,
	} {
		if err := t.exec(removal, list); err != nil {
			return err
		}
	}
	if err := t.exec(`DELETE FROM settled WHERE (settled_at, first) <= (?, ?)`, old.at, old.first); err != nil {
		return err
	}
	if next := events[len(events)-1] + 1; next <= old.last { // the rest of its row
		if err := t.exec(`INSERT INTO settled (settled_at, first, last) VALUES (?, ?, ?)`, old.at, next, old.last); err != nil {
			return err
		}
	}
	t.removed += len(events)
	return t.exec(`UPDATE totals SET removed = removed + ?, events = ?, entered = ?`, len(events), t.w.known.events+t.events, t.late.entered)
}

// settledEvents are the first that were settled.
type settledEvents struct {
	events          []int64
	at, first, last int64 // the row of the last of them
}

// settledFirst gives up to most of those that were settled at tooOld or before,
// or are among the first spare.
func (t *tx) settledFirst(tooOld int64, spare, most int) (s settledEvents, err error) {
	err = each(t, `SELECT settled_at, first, last FROM settled ORDER BY settled_at, first LIMIT ?`, []any{most}, func(rows *sql.Rows) error {
		var at, first, last int64
		err := rows.Scan(&at, &first, &last)
		for n := first; n <= last && len(s.events) < most && (at <= tooOld || len(s.events) < spare); n++ {
			s.events = append(s.events, n)
			s.at, s.first, s.last = at, first, last
		}
		return wrap(err)
	})
	return s, err
}

// forgetPacked removes what events are searched by, and the packs that have no
// others; the ids stay known.
func (t *tx) forgetPacked(events []int64, now time.Time) error {
	er := newEventReader()
	for _, n := range events {
		er.want(n)
	}
	if err := er.unpack(t); err != nil {
		return err
	}
	var ids, keys, packs []any
	gone := make(map[int64]int) // events, by pack
	for _, n := range events {
		ev := er.events[n]
		a, err := t.account(ev.Source.Owner)
		if err != nil {
			return err
		}
		a.changed = true // the events themselves tell the newest number no more
		ids = append(ids, ev.ID, nanos(now))
		keys = append(keys, ev.Source.Owner, int64(ev.Seq))
		if gone[n>>packBits]++; gone[n>>packBits] == 1 {
			packs = append(packs, n>>packBits)
		}
	}
	if err := t.execRows(`INSERT INTO removed_events (id, recorded_at) VALUES {rows}`, 2, ids); err != nil {
		return err
	}
	if err := t.execRows(`DELETE FROM events WHERE (owner, seq) IN (VALUES {rows})`, 2, keys); err != nil {
		return err
	}
	for _, pack := range packs {
		n := pack.(int64)
		var before int
		if _, err := one(t, `SELECT events FROM thinned WHERE pack = ?`, []any{n}, &before); err != nil {
			return err
		}
		change, args := `INSERT OR REPLACE INTO thinned (pack, events) VALUES (?1, ?2)`, []any{n, before + gone[n]}
		if before+gone[n] == er.full[n] {
			if n > t.w.known.fold.folded && t.fold == nil { // its cursors would go with it
				if err := t.foldCursors(); err != nil {
					return err
				}
			}
			if err := t.exec(`DELETE FROM packs WHERE n = ?`, n); err != nil {
				return err
			}
			change, args = `DELETE FROM thinned WHERE pack = ?`, args[:1]
		}
		if err := t.exec(change, args...); err != nil {
			return err
		}
	}
	return nil
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
