package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/detect"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if j.s.opts.Admin {
		return ErrAdmin
	}
	for _, b := range batches {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	var c *commit
	err := j.s.write(ctx, func(t *tx) error {
		c = newCommit(t, j.s.opts.Now(), j.s.epoch)
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
	err := j.s.read(ctx, func(r *snapshot) (err error) {
		found, err = all(r, `SELECT target, since, user_id, gaps, position FROM cursors WHERE target IN (SELECT value FROM json_each(?))`,
			[]any{jsonColumn{targets}}, func(rows *sql.Rows, c *detect.Cursor) error {
				return rows.Scan(&c.Target, timeColumn{&c.Since}, &c.UserID, jsonColumn{&c.Gaps}, &c.Position)
			})
		return err
	})
	return found, err
}
