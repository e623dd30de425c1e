package detect

import (
	"context"
	"errors"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// committer commits batches in groups, on one goroutine. A group has all batches that arrived
// during the last commit; the committer does not wait for more.
type committer struct {
	d *Detector
	// queue has no limit, because the shards stop polling when too many of their targets wait.
	queue *batch.Queue[waiting]
	stop  chan struct{} // closed after the last batch
	turn  chan struct{} // a semaphore of one slot, for commits
}

// waiting is a batch that waits for its commit. poll is nil if the batch has only a cursor or a
// position. settle is called with the result of the commit.
type waiting struct {
	batch  *Batch
	poll   *poll.Poll
	settle func(error)
}

// newBatch returns the batch of a poll.
func newBatch(p *poll.Poll, events []deliver.Event) *Batch {
	if p.Cursor == nil {
		return &Batch{Events: events}
	}
	return &Batch{Cursor: newCursor(p.Key(), p.Cursor), Events: events}
}

func newCursor(target string, c *poll.Cursor) *Cursor {
	return &Cursor{Target: target, Since: c.Since, UserID: c.UserID, Gaps: gapsAs[Gap](c.Gaps)}
}

// gapsAs converts gaps between the types of this package and of package poll. It returns nil if
// there are none.
func gapsAs[To, From Gap | poll.Gap](gaps []From) (out []To) {
	for _, g := range gaps {
		out = append(out, To(g))
	}
	return out
}

func newCommitter(d *Detector) *committer {
	return &committer{d: d, queue: batch.NewQueue[waiting](0), stop: make(chan struct{}), turn: make(chan struct{}, 1)}
}

// take queues the result of a poll for the next commit.
func (c *committer) take(sh *shards.Shard, p *poll.Poll, events []deliver.Event) {
	c.queue.Put(waiting{newBatch(p, events), p, func(err error) { sh.Settled(p, err) }})
}

// store implements shards.Config.Store.
func (c *committer) store(target string, cursor *poll.Cursor, done func(error)) {
	c.queue.Put(waiting{&Batch{Cursor: newCursor(target, cursor)}, nil, done})
}

// run commits batches until stop is closed and the queue is empty.
func (c *committer) run(ctx context.Context) {
	for group := c.queue.Wait(c.stop, maxGroup); len(group) > 0; group = c.queue.Wait(c.stop, maxGroup) {
		c.turn <- struct{}{}
		c.commit(ctx, group)
		<-c.turn
	}
}

// commit commits a group and settles each of its batches, as committed or as failed. If the journal
// refuses one batch, the others are still committed.
func (c *committer) commit(ctx context.Context, group []waiting) {
	for len(group) > 0 {
		err := c.try(ctx, group)
		if err == nil {
			c.handOver(group)
			return
		}
		if errors.Is(err, fleet.ErrFenced) { // another node has taken the targets
			c.d.deps.Logger.Debug("commit refused", "batches", len(group), "error", err)
			c.d.count.fenced.Add(int64(len(group)))
			settleAll(group, err)
			return
		}
		c.d.count.commitErrors.Add(1)
		c.d.deps.Logger.Error("commit failed", "batches", len(group), "error", err)
		refused := -1
		var be *BatchError
		if errors.As(err, &be) {
			refused = slices.IndexFunc(group, func(w waiting) bool { return w.batch == be.Batch })
		}
		if refused < 0 {
			settleAll(group, err)
			return
		}
		group[refused].settle(err)
		group = slices.Concat(group[:refused], group[refused+1:])
	}
}

func settleAll(group []waiting, err error) {
	for i := range group {
		group[i].settle(err)
	}
}

// try commits the batches of the group and their positions in one transaction.
func (c *committer) try(ctx context.Context, group []waiting) error {
	limit, end := context.WithTimeout(ctx, commitTimeout)
	defer end()
	batches := make([]*Batch, len(group))
	deliverBy := c.d.deps.StoreNow().Add(c.d.cfg.DeliverBy)
	for i, w := range group {
		w.batch.DeliverBy = deliverBy
		w.batch.Deliveries, w.batch.Unpaid = nil, nil
		for e := range w.batch.Events {
			w.batch.Events[e].Seq = 0
		}
		batches[i] = w.batch
	}
	positions, stored := c.d.positions(group)
	if err := c.d.deps.Journal.Commit(limit, append(batches, positions...)); err != nil {
		return err
	}
	stored()
	return nil
}

// handOver passes on the deliveries of a committed group, and settles its batches.
func (c *committer) handOver(group []waiting) {
	c.d.count.commits.Add(1)
	var out []deliver.Delivery
	now := c.d.deps.Now()
	for _, w := range group {
		out = append(out, w.batch.Deliveries...)
		for e := range w.batch.Events {
			if w.batch.Events[e].Seq == 0 {
				c.d.count.known.Add(1)
			} else {
				c.d.count.events.Add(1)
				if e == 0 || w.batch.Events[e].TweetID != w.batch.Events[e-1].TweetID {
					w.poll.NoteLatency(&w.batch.Events[e], now)
				}
			}
		}
	}
	if len(out) > 0 {
		c.d.deps.OnCommit(out)
	}
	settleAll(group, nil)
}
