package detect

import (
	"context"
	"maps"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// ReadUntil tells until when a source has got what its accounts published, by
// monitor.Key: MaxOverlap before they were read for it, since posts may become visible
// late. Accounts that have not been read for it are missing; before Run all are. A
// source that watches none is fine.
func (d *Detector) ReadUntil(ctx context.Context, sourceID string) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	if !d.isStarted() {
		return until, nil
	}
	for _, sh := range d.shards {
		part := map[string]time.Time{} // who gives up waiting must not read while it is written
		err := d.ask(ctx, sh, func(sh *shard) {
			src := sh.accounts.table.Source(sourceID)
			if src == nil {
				return
			}
			src.EachOf(func(slot int32) {
				if at := sh.accounts.readFor(slot, sourceID); !at.IsZero() {
					part[monitor.Key(sh.accounts.table.Username(slot))] = at.Add(-d.cfg.MaxOverlap)
				}
			})
		})
		if err != nil {
			return nil, err
		}
		maps.Copy(until, part)
	}
	return until, nil
}

// QueryReadUntil tells until when a query subscription has got what was published:
// MaxOverlap before it was read for it, by searching or from its authors' timelines;
// zero when it was not yet.
func (d *Detector) QueryReadUntil(ctx context.Context, sourceID string) (time.Time, error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer unlock()
	r := d.rules.subs[sourceID]
	if r == nil {
		return time.Time{}, nil
	}
	var read time.Time
	switch r.from {
	case searched:
		read, err = d.searchedUntil(ctx, r.sub)
	case timelines:
		read, err = d.timelinesUntil(ctx, r.sub)
	default:
		read = d.readAtStart(r)
	}
	if err != nil || read.IsZero() {
		return time.Time{}, err
	}
	return read.Add(-d.cfg.MaxOverlap), nil
}
