package platforms

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Commits orders the commits of several detectors: what one has committed is handed on
// before the next one commits, so that deliveries are handed on in the order of
// Event.Seq.
type Commits struct {
	turn chan struct{} // held from a commit until its deliveries are handed on
	hand func([]deliver.Delivery)
}

// NewCommits hands deliveries to hand.
func NewCommits(hand func([]deliver.Delivery)) *Commits {
	return &Commits{turn: make(chan struct{}, 1), hand: hand}
}

// Of returns the Journal and OnCommit of a platform's detector. The cursors of one that
// has a name are kept under it.
func (c *Commits) Of(name string, j detect.Journal) (detect.Journal, func([]deliver.Delivery)) {
	if name != "" {
		name += "/"
	}
	return journal{c, name, j}, func(ds []deliver.Delivery) {
		defer c.release() // Commit has the turn
		c.hand(ds)
	}
}

// take waits for the turn. Most turns are free, and are taken without a look at ctx: ctx.Done
// may have to make a channel first, which costs more than the rest.
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

// Commit keeps the turn if there are deliveries: the detector calls OnCommit with them right
// after it.
func (j journal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		if c := b.Cursor; c != nil && !strings.HasPrefix(c.Target, j.prefix) { // a batch may come twice
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
