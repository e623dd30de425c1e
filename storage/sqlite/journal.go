package sqlite

import (
	"context"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// journal implements detect.Journal.
type journal struct{ s *Store }

// Commit refuses a batch, before anything is changed, when an event lacks ID,
// Source.ID or Body, a charge lacks ID, or the cursor lacks Target.
func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if err := checkBatch(b); err != nil {
			return &detect.BatchError{Batch: b, Err: err}
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

func checkBatch(b *detect.Batch) error {
	for i := range b.Events {
		ev := &b.Events[i]
		switch {
		case ev.ID == "":
			return &deliver.FieldError{Package: "deliver", Field: "Event.ID", Allowed: "the event's id"}
		case ev.Source.ID == "":
			return &deliver.FieldError{Package: "deliver", Field: "Event.Source.ID", Allowed: "the id of a monitor or rule"}
		case len(ev.Body) == 0:
			return &deliver.FieldError{Package: "deliver", Field: "Event.Body", Allowed: "the encoded event"}
		}
	}
	for i := range b.Charges {
		if err := checkEntry(&b.Charges[i]); err != nil {
			return err
		}
	}
	if b.Cursor != nil && b.Cursor.Target == "" {
		return &deliver.FieldError{Package: "deliver", Field: "Cursor.Target", Allowed: "the polled target"}
	}
	return nil
}
