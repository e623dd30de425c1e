package memory

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// feedKept is the minimum number of changes that the feed keeps. It keeps up to twice as many.
const feedKept = 10_000

// feedView implements fleet.Feed.
type feedView struct{ s *Store }

// feed has the most recent changes of records. Its callers must have locked the store.
type feed struct {
	last    uint64         // number of the newest change
	changes []fleet.Change // oldest first, consecutive numbers
}

// Feed returns the feed of changed records. It keeps the last 10,000 to 20,000 changes.
func (s *Store) Feed() fleet.Feed { return feedView{s} }

func (f *feed) add(kind fleet.Kind, owner, id string) {
	if len(f.changes) == 2*feedKept {
		f.changes = append(make([]fleet.Change, 0, 2*feedKept), f.changes[feedKept:]...)
	}
	f.last++
	f.changes = append(f.changes, fleet.Change{N: f.last, Kind: kind, Owner: owner, ID: id})
}

func (v feedView) Since(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
	if err := v.s.lock(ctx); err != nil {
		return nil, err
	}
	defer v.s.mu.Unlock()
	f := &v.s.feed
	if after > f.last || f.last-after > uint64(len(f.changes)) {
		return nil, fleet.ErrTooOld
	}
	later := f.changes[len(f.changes)-int(f.last-after):]
	return slices.Clone(later[:min(max(limit, 0), len(later))]), nil
}

func (v feedView) Last(ctx context.Context) (uint64, error) {
	if err := v.s.lock(ctx); err != nil {
		return 0, err
	}
	defer v.s.mu.Unlock()
	return v.s.feed.last, nil
}
