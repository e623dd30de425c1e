package platforms

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Commits makes several detectors commit one after another. A detector commits only after the
// deliveries of the previous commit were handed on. So deliveries are handed on in the order of
// Event.Seq.
type Commits struct {
	turn chan struct{} // held from a commit until its deliveries are handed on
	hand func([]deliver.Delivery)
}

// NewCommits returns a Commits that hands deliveries on by calling hand.
func NewCommits(hand func([]deliver.Delivery)) *Commits {
	return &Commits{turn: make(chan struct{}, 1), hand: hand}
}

// Of returns the Journal and OnCommit for the detector of the platform name. The Journal stores
// the targets of its cursors with the prefix name + "/", unless name is "".
func (c *Commits) Of(name string, j detect.Journal) (detect.Journal, func([]deliver.Delivery)) {
	if name != "" {
		name += "/"
	}
	return journal{c, name, j}, func(ds []deliver.Delivery) {
		defer c.release() // Commit has the turn
		c.hand(ds)
	}
}

// take waits for the turn. If the turn is free, take does not call ctx.Done, which may allocate a
// channel.
func (c *Commits) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("streamwatch: %w", context.Cause(ctx))
	}
}

func (c *Commits) release() { <-c.turn }

type journal struct {
	*Commits
	prefix string
	detect.Journal
}

// Commit commits the batches when it has the turn. If there are deliveries it keeps the turn,
// because the detector then calls OnCommit, which releases the turn.
func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if c := b.Cursor; c != nil && !strings.HasPrefix(c.Target, j.prefix) { // the batch may be a retry, with the prefix already set
			c.Target = j.prefix + c.Target
		}
	}
	if err := j.take(ctx); err != nil {
		return err
	}
	if err := j.Journal.Commit(ctx, batches); err != nil {
		j.release()
		return err
	}
	for _, b := range batches {
		if len(b.Deliveries) > 0 {
			return nil
		}
	}
	j.release()
	return nil
}

func (j journal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	if j.prefix == "" {
		return j.Journal.Cursors(ctx, targets...)
	}
	full := make([]string, len(targets))
	for i, t := range targets {
		full[i] = j.prefix + t
	}
	found, err := j.Journal.Cursors(ctx, full...)
	for i := range found {
		found[i].Target = strings.TrimPrefix(found[i].Target, j.prefix)
	}
	return found, err
}
