package detect

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// keeper keeps the day's charges and the overlap in Deps.State, for later processes and for the
// other nodes of a fleet. A process that is killed loses at most the last keepEvery of them. Its
// methods are not safe for concurrent use.
type keeper struct {
	d       *Detector
	read    chan struct{} // closed when run has read the overlap, or failed to
	overlap time.Duration // the one that the next process begins with; 0 before it was read
}

// keepEvery is the time after which changes are stored, and those of other nodes read.
const keepEvery = 10 * time.Second

// run reads the overlap, and then keeps both values at intervals until ctx ends.
func (k *keeper) run(ctx context.Context) {
	k.lateness(ctx)
	close(k.read)
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			k.keep(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// keep stores what has changed.
func (k *keeper) keep(ctx context.Context) {
	k.charges(ctx)
	k.lateness(ctx)
}

// charges reads and stores the day's charges if they are limited.
func (k *keeper) charges(ctx context.Context) {
	if k.d.cfg.Cost.Limit > 0 {
		k.update(ctx, "spend", k.d.env.Budget.Spend.Merge)
	}
}

// lateness stores the overlap if it has changed; of several nodes the last change counts. First it
// reads the overlap of an earlier process.
func (k *keeper) lateness(ctx context.Context) {
	now := k.d.late.Overlap()
	if now == k.overlap {
		return
	}
	if k.update(ctx, "overlap", func(stored []byte) []byte {
		if k.overlap == 0 {
			k.overlap = k.d.cfg.Overlap
			if had, err := time.ParseDuration(string(stored)); err == nil {
				k.d.late.Begin(had)
				k.overlap = had
			}
		}
		if now = k.d.late.Overlap(); now == k.overlap {
			return stored
		}
		return []byte(now.String())
	}) {
		k.overlap = now
	}
}

// update replaces a value by the result of merge, which is called again when another node was
// faster. It reports false, and logs why, when the value could not be read or stored.
func (k *keeper) update(ctx context.Context, space string, merge func(stored []byte) []byte) bool {
	limit, end := context.WithTimeout(ctx, commitTimeout)
	defer end()
	name, state := record.Name{Space: space, ID: k.d.deps.Platform}, k.d.deps.State
	err := record.ErrConflict
	for errors.Is(err, record.ErrConflict) {
		var v record.Value
		if v, err = state.Get(limit, name); err != nil && !errors.Is(err, record.ErrNotFound) {
			break
		}
		data := merge(v.Data)
		if bytes.Equal(data, v.Data) {
			return true
		}
		_, err = state.Swap(limit, name, v.Version, data, 0)
	}
	if err != nil && ctx.Err() == nil {
		k.d.deps.Logger.Error("cannot read or store a value: retrying", "value", space, "error", err)
	}
	return err == nil
}
