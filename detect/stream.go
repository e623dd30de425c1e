package detect

import (
	"context"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/push"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/detect/internal/shards"
	"github.com/streamwatch/streamwatch/fetcher"
)

// StreamStats counts the posts of a stream; zero without a Streamer.
type StreamStats = push.Stats

// newStream returns the stream of a kind, nil without a Streamer.
func (d *Detector) newStream(kind poll.Kind, streamer fetcher.Streamer) *push.Stream {
	if streamer == nil {
		return nil
	}
	return push.New(push.Config{Streamer: streamer, Kind: kind, AuditEvery: d.cfg.AuditEvery, Logger: d.deps.Logger, Now: d.deps.Now,
		Shards: func() (list []push.Shard) {
			for _, sh := range d.shards {
				list = append(list, sh)
			}
			return list
		},
		ShardOf: func(name string) push.Shard {
			if kind == poll.Queries {
				return d.queryShard(QueryTarget(name))
			}
			return d.shardOf(name)
		},
		Position: d.position, Store: d.storePositions, Backoff: d.env.Backoff, Billed: d.env.Budget.Spend.Add, Closed: d.env.Budget.Spend.Wait})
}

// position returns a target's position in the journal, "" if there is none.
func (d *Detector) position(ctx context.Context, target string) (string, error) {
	found, err := d.deps.Journal.Cursors(ctx, target)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Position, nil
}

// storePositions queues an empty batch; its commit carries the positions.
func (d *Detector) storePositions() {
	d.committer.queue.Put(waiting{batch: &Batch{}, settle: func(error) {}})
}

// follow connects a shard's accounts and queries with the streams.
func (d *Detector) follow(sh *shards.Shard) {
	if of := d.streams[poll.Accounts]; of != nil {
		sh.Accounts.Pushed = accounts.NewPushed(sh.Accounts, of.Health(), d.cfg.AuditEvery)
	}
	if of := d.streams[poll.Queries]; of != nil {
		sh.Queries.Pushed = queries.NewPushed(sh.Queries, of.Health(), d.cfg.AuditEvery)
	}
}

// positions returns batches for the positions of the streams that the journal lacks. Commit them
// with group, then call stored.
func (d *Detector) positions(group []waiting) (batches []*Batch, stored func()) {
	var numbers [len(d.streams)][]uint64
	for _, w := range group {
		if w.poll != nil {
			kind := w.poll.Kind()
			numbers[kind] = append(numbers[kind], w.poll.Stream.Numbers...)
		}
	}
	stored = func() {}
	for kind, of := range d.streams {
		if target, position, ok := of.Position(numbers[kind]); ok {
			before := stored
			batches = append(batches, &Batch{Cursor: &Cursor{Target: target, Position: position}})
			stored = func() { before(); of.Stored(position) }
		}
	}
	return batches, stored
}
