package sqlite

import (
	"context"

	"github.com/streamwatch/streamwatch/detect"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if err := b.Validate(); err != nil {
			return err
		}
	}
	var c *commit
	err := j.s.write(ctx, func(t *tx) error {
		c = &commit{t: t, packs: &t.w.packs, now: j.s.opts.Now(), unknown: make(map[string]bool)}
		return c.all(batches)
	})
	if err != nil {
		return err
	}
	// Only what is on the disk is said to be recorded.
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
