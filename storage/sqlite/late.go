package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// A commit writes its events into a pack; that of a single event changes one page.
// The tables in which they are looked up, by id, by owner and number, and by when
// they were settled, would be a page more each. They are entered there enterAt at a
// time, and whoever looks them up before looks into the packs behind the last that
// was entered, too. It is few because reads go through all that are late, and those
// entered at once may change a page each.
const enterAt = 32

// late are the events that are not entered yet, as rows of the tables.
type late struct {
	entered              int64 // the pack up to which all are
	ids, events, settled []any
}

// enteredPack is SQL for the pack up to which all events are entered.
const enteredPack = `(SELECT max(t.entered, coalesce((SELECT entered FROM packs ORDER BY n DESC LIMIT 1), 0)) FROM totals t)`

const eventWidth = 7 // values of a row of events

// add notes an event, but its id.
func (l *late) add(ev *deliver.Event, n int64) {
	l.events = append(l.events, ev.Source.Owner, int64(ev.Seq), n, string(ev.Source.Kind), ev.Source.ID, withoutCase(ev.AuthorUsername), nanos(ev.DetectedAt))
}

// settle notes when an event was settled. Those that come one after the other in a
// pack are one row: it is changed only by the commit that added it.
func (l *late) settle(at, n int64) {
	if k := len(l.settled); k > 0 && l.settled[k-3] == at && l.settled[k-1] == n-1 {
		l.settled[k-1] = n
		return
	}
	l.settled = append(l.settled, at, n, n)
}

// newest is the pack of the newest.
func (l *late) newest() int64 { return l.events[len(l.events)-eventWidth+2].(int64) >> packBits }

// lastSeq is the number of the owner's newest event here, 0 for none.
func (l *late) lastSeq(owner string) (seq uint64) {
	for row := range slices.Chunk(l.events, eventWidth) {
		if row[0] == owner {
			seq = uint64(row[1].(int64))
		}
	}
	return seq
}

// settledFirst is when the first of these was settled.
func (l *late) settledFirst() (at int64, any bool) {
	for row := range slices.Chunk(l.settled, 3) {
		if first := row[0].(int64); !any || first < at {
			at, any = first, true
		}
	}
	return at, any
}

// ids are those of late events, and of all above the other result. New posts are
// mostly newer than thousands of others, and so are their ids: nobody has to look
// for these.
func (t *tx) ids() (known map[string]bool, above string) {
	k := t.w.known
	if k.ids == nil || len(k.ids) > knownMost {
		k.ids, k.above = make(map[string]bool), k.lastID
		for _, id := range t.late.ids {
			k.ids[id.(string)] = true
		}
	}
	return k.ids, k.above
}

// enter puts all late events in their places. That none is late any more is
// written with the next pack, or saved in totals.
func (t *tx) enter() error {
	for _, rows := range []struct {
		query  string
		width  int
		values []any
	}{
		{`INSERT INTO event_ids (id) VALUES {rows}`, 1, t.late.ids},
		{`INSERT INTO events (owner, seq, n, source_kind, source_id, author_key, detected_at) VALUES {rows}`, eventWidth, t.late.events},
		{`INSERT INTO settled (settled_at, first, last) VALUES {rows}`, 3, t.late.settled},
	} {
		// After an error there may be no transaction any more, and what runs then
		// would be one of its own.
		if err := t.execRows(rows.query, rows.width, rows.values); err != nil {
			return err
		}
	}
	crashpoint.Hit("sqlite.commit.entered")
	t.late = late{entered: t.late.newest()}
	return nil
}

// knowLate reads which events are late.
func (t *tx) knowLate() (l late, err error) {
	if _, err := one(t, `SELECT `+enteredPack, nil, &l.entered); err != nil {
		return l, err
	}
	events, err := lateEvents(t, "")
	if err != nil {
		return l, err
	}
	for i := range events {
		ev := &events[i]
		l.ids = append(l.ids, ev.ID)
		l.add(&ev.Event, ev.n)
		received, err := t.exists(`SELECT 1 FROM deliveries WHERE `+ofEvent("n", "?"), ev.n, ev.n)
		if err != nil {
			return l, err
		}
		if !received {
			l.settle(nanos(ev.CommittedAt), ev.n)
		}
	}
	return l, nil
}

// lateEvent is one that is not entered, without its body.
type lateEvent struct {
	deliver.Event
	n int64
}

// lateEvents reads those of an owner, or of all for "", in their order.
func lateEvents(a asker, owner string) (events []lateEvent, err error) {
	var text string // as it is in there
	if owner != "" {
		text = string(fetcher.AppendString(nil, owner))
	}
	err = each(a, `SELECT n, fields FROM packs WHERE n > `+enteredPack+` AND fields IS NOT NULL
		AND (?1 = '' OR instr(fields, ?1) > 0) ORDER BY n`, []any{text}, func(rows *sql.Rows) error {
		var pack int64
		var fields sql.RawBytes
		if err := rows.Scan(&pack, &fields); err != nil {
			return wrap(err)
		}
		for place, line := range bytes.Split(fields, []byte("\n")) {
			late := lateEvent{n: pack<<packBits | int64(place)}
			if _, _, err := unpackFields(&late.Event, line); err != nil {
				return fmt.Errorf("%w: event %d of pack %d: %w", ErrCorrupt, place, pack, err)
			}
			if owner == "" || late.Source.Owner == owner {
				events = append(events, late)
			}
		}
		return nil
	})
	return events, err
}

// readsBack says whether a pack gives these of an event as they were: text that
// is no UTF-8 it does not.
func readsBack(ev *deliver.Event) bool {
	for _, text := range [...]string{ev.ID, ev.Source.Owner, string(ev.Source.Kind), ev.Source.ID, ev.AuthorUsername} {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}
