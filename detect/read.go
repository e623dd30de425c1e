package detect

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// ReadUntil tells until when a source's accounts have been read for it, by
// monitor.Key: what it has not got yet became visible after that. Accounts that have
// not been read for it are missing; before Run all are. A source that watches none
// is fine.
func (d *Detector) ReadUntil(ctx context.Context, sourceID string) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	if !d.isStarted() {
		return until, nil
	}
	for _, sh := range d.shards {
		part := map[string]time.Time{} // who gives up waiting must not read while it is written
		err := d.ask(ctx, sh, func(sh *shard) {
			src := sh.sources[sourceID]
			if src == nil {
				return
			}
			src.slots.each(func(slot int32) {
				if at := sh.readFor(slot, sourceID); !at.IsZero() {
					part[monitor.Key(sh.username(slot))] = at
				}
			})
		})
		if err != nil {
			return nil, err
		}
		for key, at := range part {
			until[key] = at
		}
	}
	return until, nil
}

// QueryReadUntil tells until when a query subscription's posts have been read for
// it, by searching or from its authors' timelines; zero when they were not yet.
func (d *Detector) QueryReadUntil(ctx context.Context, sourceID string) (time.Time, error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	r := d.rules.subs[sourceID]
	switch {
	case r == nil:
		return time.Time{}, nil
	case r.from == searched:
		return d.searchedUntil(ctx, r.sub)
	case r.from == timelines:
		return d.timelinesUntil(ctx, r.sub)
	}
	return r.read, nil
}

// readFor is until when an account was read for a source, without a gap that is to
// be read yet; zero when it was not.
func (sh *shard) readFor(slot int32, sourceID string) time.Time {
	until := readUntil(sh.targets.at(slot).since.time(), sh.gaps[slot])
	sh.eachSub(slot, func(s subscriber) {
		if s.fresh && sh.wants[s.want].source.ID == sourceID {
			until = time.Time{} // it has not got all yet
		}
	})
	return until
}
