package sqlstore

import (
	"context"

	"github.com/streamwatch/streamwatch/detect"
)

// journal implements detect.Journal.
type journal struct{ *Store }

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if j.Refuse != nil {
		return j.Refuse
	}
	for _, b := range batches {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	var c *commit
	err := j.Write(ctx, func(t Tx) error {
		c = newCommit(j.Store, t)
		return c.all(batches)
	})
	if err != nil {
		return err
	}
	// Set the results in the batches only now, when everything is on the disk.
	for i, b := range batches {
		out := c.out[i]
		for k := range b.Events {
			b.Events[k].Seq = out.seqs[k]
			if out.seqs[k] != 0 {
				b.Events[k].CommittedAt = c.now
			}
		}
		b.Deliveries = append(b.Deliveries, out.deliveries...)
		b.Unpaid = append(b.Unpaid, out.unpaid...)
	}
	return nil
}

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	var found []detect.Cursor
	err := j.Read(ctx, func(r Querier) (err error) {
		found, err = all(r, `SELECT `+cursorColumns+` FROM cursors WHERE target IN {texts ?}`,
			[]any{Texts(targets)}, func(rows Rows, c *detect.Cursor) error {
				return rows.Scan(cursorFields(c)...)
			})
		return err
	})
	return found, err
}

// cursorColumns are the columns of a cursor.
const cursorColumns = `target, since, user_id, gaps, position`

func cursorFields(c *detect.Cursor) []any {
	return []any{&c.Target, timeColumn{&c.Since}, &c.UserID, JSON{&c.Gaps}, &c.Position}
}

func cursorValues(c *detect.Cursor) []any {
	return []any{c.Target, optional(c.Since), c.UserID, JSON{c.Gaps}, c.Position}
}
