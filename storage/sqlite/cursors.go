package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Each poll that found something moves its target's cursor, and those of one
// commit are anywhere among all. So they are written one after the other, and put
// in their places when there are this many: by then some have moved again, and
// others are neighbours.
const foldAt = 2048

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

// scanMoved reads moved cursors, the newest of a target last.
func scanMoved(a asker, take func(cursorRow)) error {
	return each(a, `SELECT cursors FROM packs WHERE n > (SELECT folded FROM totals) AND cursors IS NOT NULL ORDER BY n`, nil, func(rows *sql.Rows) error {
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

// foldCursors puts all that have moved in their places.
func (t *tx) foldCursors() error {
	newest := maps.Clone(t.w.known.moved)
	if newest != nil {
		for _, c := range t.moved {
			newest[c.target] = c
		}
	} else {
		newest = make(map[string]cursorRow)
		if err := scanMoved(t, func(c cursorRow) { newest[c.target] = c }); err != nil {
			return err
		}
	}
	var values []any
	for _, target := range slices.Sorted(maps.Keys(newest)) {
		c := newest[target]
		values = append(values, c.target, c.since, c.userID, c.gaps)
	}
	err := t.execRows(`INSERT INTO cursors (target, since, user_id, gaps) VALUES {rows}
		ON CONFLICT DO UPDATE SET since = excluded.since, user_id = excluded.user_id, gaps = excluded.gaps`, 4, values)
	if err != nil {
		return err
	}
	k := t.w.known
	t.folded = k.packs
	if err := t.exec(`DELETE FROM packs WHERE n > ? AND n <= ? AND fields IS NULL`, k.folded, k.packs); err != nil {
		return err
	}
	return t.exec(`UPDATE totals SET folded = ?, events = ?`, k.packs, k.events+t.events)
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
		err = scanMoved(r, func(c cursorRow) {
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
