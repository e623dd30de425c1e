package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Each poll that found something moves its target's cursor, and those of one
// commit are anywhere among all. So they are written one after the other, and put
// in their places when there are foldAt: by then some have moved again, and others
// are neighbours. That goes in steps of foldStep cursors, or twice as many as a
// transaction moves, so that nobody waits for it.
const (
	foldAt   = 2048
	foldStep = 64
)

// fold is how far cursors have got to their places.
type fold struct {
	folded  int64                // the pack up to which all are there
	logged  int                  // cursors since, about
	moved   map[string]cursorRow // the newest of them but those under way; nil when only the file has them
	moving  []cursorRow          // under way to their places, by target
	through int64                // the pack up to which all are there after these
}

// cursorRow is a cursor as its table has it.
type cursorRow struct {
	target string
	since  any // nil for none
	userID string
	gaps   any // JSON text, nil for none
}

// appendCursors appends cursors as a pack has them.
func appendCursors(b []byte, moved []cursorRow) []byte {
	b = append(b, '[')
	for i, c := range moved {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = append(fetcher.AppendString(append(b, '['), c.target), ',')
		if since, ok := c.since.(int64); ok {
			b = strconv.AppendInt(b, since, 10)
		} else {
			b = append(b, "null"...)
		}
		b = append(fetcher.AppendString(append(b, ','), c.userID), ',')
		if gaps, ok := c.gaps.(string); ok {
			b = append(b, gaps...)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// scanMoved reads moved cursors, the newest of a target last: all, or at least
// those of one target.
func scanMoved(a asker, target string, take func(cursorRow)) error {
	var text string // as it is in there
	if target != "" {
		text = string(fetcher.AppendString(nil, target))
	}
	return each(a, `SELECT cursors FROM packs WHERE n > (SELECT folded FROM totals) AND cursors IS NOT NULL
		AND (?1 = '' OR instr(cursors, ?1) > 0) ORDER BY n`, []any{text}, func(rows *sql.Rows) error {
		var list [][4]json.RawMessage
		if err := rows.Scan(jsonColumn{&list}); err != nil {
			return wrap(err)
		}
		for _, c := range list {
			var row cursorRow
			var since *int64
			for i, to := range []any{&row.target, &since, &row.userID} {
				if err := json.Unmarshal(c[i], to); err != nil {
					return wrap(err)
				}
			}
			if since != nil {
				row.since = *since
			}
			if gaps := string(c[3]); gaps != "null" {
				row.gaps = gaps
			}
			take(row)
		}
		return nil
	})
}

// foldSome puts some cursors in their places when it is time.
func (t *tx) foldSome() error {
	f := &t.w.known.fold
	if len(f.moving) == 0 {
		newest, err := t.newestMoved()
		if err != nil {
			return err
		}
		t.fold = &fold{folded: f.folded, moved: make(map[string]cursorRow), moving: newest, through: t.w.known.packs}
		return nil
	}
	step := min(max(foldStep, 2*len(t.moved)), len(f.moving))
	left := *f
	left.moving = f.moving[step:]
	t.fold = &left
	if err := t.placeCursors(f.moving[:step]); err != nil || len(left.moving) > 0 {
		return err
	}
	left.folded = f.through
	return t.foldedThrough(f.folded, f.through)
}

// foldCursors puts all that have moved in their places.
func (t *tx) foldCursors() error {
	k := t.w.known
	newest, err := t.newestMoved()
	if err != nil {
		return err
	}
	if err := t.placeCursors(k.fold.moving); err != nil { // some of them again, newer
		return err
	}
	if err := t.placeCursors(newest); err != nil {
		return err
	}
	t.moved = nil
	t.fold = &fold{folded: k.packs, moved: make(map[string]cursorRow)}
	return t.foldedThrough(k.fold.folded, k.packs)
}

// newestMoved gives the cursors that have moved and are not under way, those of
// this transaction included, by target.
func (t *tx) newestMoved() ([]cursorRow, error) {
	newest := maps.Clone(t.w.known.fold.moved)
	if newest != nil {
		for _, c := range t.moved {
			newest[c.target] = c
		}
	} else {
		newest = make(map[string]cursorRow)
		if err := scanMoved(t, "", func(c cursorRow) { newest[c.target] = c }); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(a, b cursorRow) int { return strings.Compare(a.target, b.target) }), nil
}

func (t *tx) placeCursors(cursors []cursorRow) error {
	values := make([]any, 0, 4*len(cursors))
	for _, c := range cursors {
		values = append(values, c.target, c.since, c.userID, c.gaps)
	}
	return t.execRows(`INSERT INTO cursors (target, since, user_id, gaps) VALUES {rows}
		ON CONFLICT DO UPDATE SET since = excluded.since, user_id = excluded.user_id, gaps = excluded.gaps`, 4, values)
}

// foldedThrough notes that the cursors of packs up to through are in their places;
// those up to before were already.
func (t *tx) foldedThrough(before, through int64) error {
	if err := t.exec(`DELETE FROM packs WHERE n > ? AND n <= ? AND fields IS NULL`, before, through); err != nil {
		return err
	}
	return t.exec(`UPDATE totals SET folded = ?, events = ?, entered = ?`, through, t.w.known.events+t.events, t.late.entered)
}

// learn takes in what a transaction has done, once that is on the disk.
func (f *fold) learn(done *fold, moved []cursorRow) {
	if done != nil {
		begun := len(f.moving) == 0 // with those of this transaction
		*f = *done
		if begun {
			return
		}
	}
	f.logged += len(moved)
	for _, c := range moved {
		if f.moved != nil {
			f.moved[c.target] = c
		}
	}
}

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	var found []detect.Cursor
	err := j.s.read(ctx, func(r *snapshot) error {
		list, err := listJSON(targets)
		if err != nil {
			return err
		}
		newest := make(map[string]cursorRow, len(targets))
		err = each(r, `SELECT target, since, user_id, gaps FROM cursors WHERE target IN (SELECT value FROM json_each(?))`,
			[]any{list}, func(rows *sql.Rows) error {
				var c cursorRow
				err := rows.Scan(&c.target, &c.since, &c.userID, &c.gaps)
				newest[c.target] = c
				return wrap(err)
			})
		if err != nil {
			return err
		}
		wanted := make(map[string]bool, len(targets))
		for _, target := range targets {
			wanted[target] = true
		}
		var only string // of many rules each asks for its own
		if len(targets) == 1 {
			only = targets[0]
		}
		err = scanMoved(r, only, func(c cursorRow) {
			if wanted[c.target] {
				newest[c.target] = c
			}
		})
		if err != nil {
			return err
		}
		for _, row := range newest {
			c := detect.Cursor{Target: row.target, UserID: row.userID}
			if err := (timeColumn{&c.Since}).Scan(row.since); err != nil {
				return err
			}
			if err := (jsonColumn{&c.Gaps}).Scan(row.gaps); err != nil {
				return err
			}
			found = append(found, c)
		}
		return nil
	})
	return found, err
}
