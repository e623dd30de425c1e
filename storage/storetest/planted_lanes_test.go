package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
)

// lateFeed numbers the creation of monitors outside their transaction.
type lateFeed struct {
	*brokenFleet
	mu      sync.Mutex
	last    uint64
	changes []fleet.Change
}

// draw draws a number for a change, whose entry add makes.
func (f *lateFeed) draw() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	return f.last
}

func (f *lateFeed) add(c fleet.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, c)
	slices.SortFunc(f.changes, func(a, b fleet.Change) int { return int(a.N) - int(b.N) })
}

func (f *lateFeed) after(_ context.Context, after uint64, limit int) (cs []fleet.Change, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.changes {
		if c.N > after && len(cs) < limit {
			cs = append(cs, c)
		}
	}
	return cs, nil
}

func (f *lateFeed) Monitors() monitor.Store {
	return brokenMonitors{f.Store.Monitors(), &broken{createMonitor: f.create}}
}

// numberedOutside draws the number first, and adds the entry when the record is there.
func (f *lateFeed) numberedOutside(ctx context.Context, m monitor.Monitor) error {
	c := fleet.Change{N: f.draw(), Kind: fleet.Monitor, Owner: m.Owner, ID: m.ID}
	err := f.Store.Monitors().Create(ctx, m)
	sleep(ctx, time.Duration(c.N%3)*time.Millisecond)
	f.add(c)
	return err
}

// toldBefore adds the entry before the record is there.
func (f *lateFeed) toldBefore(ctx context.Context, m monitor.Monitor) error {
	f.add(fleet.Change{N: f.draw(), Kind: fleet.Monitor, Owner: m.Owner, ID: m.ID})
	sleep(ctx, time.Millisecond)
	return f.Store.Monitors().Create(ctx, m)
}

// create is what the planted store does.
func (f *lateFeed) create(ctx context.Context, m monitor.Monitor) error {
	return f.numberedOutside(ctx, m)
}

func plantLateFeed(s storage.Store) *lateFeed {
	f := &lateFeed{}
	f.brokenFleet = breakFleet(s, func(b *brokenFleet, _ fleet.Members) { b.since = f.after }).(*brokenFleet)
	return f
}

var plantedLaneFaults = []plantedFault{
	{"the feed is numbered outside the transaction", func(s storage.Store) storage.Store { return plantLateFeed(s) },
		"feed/a number that is seen has none below it to come", "may have none below it to come"},
	{"the feed tells of a record before it is there", func(s storage.Store) storage.Store { return earlyFeed{plantLateFeed(s)} },
		"feed/a number that is seen has none below it to come", "its record is not there yet"},
	{"the feed forgets without saying so", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.since = func(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
				last, err := b.real.Feed().Last(ctx)
				if err != nil || after > last {
					return nil, err
				}
				return b.real.Feed().Since(ctx, after, limit)
			}
		})
	}, "feed/Since gives what follows, in order and up to its limit", "above the last number"},
	{"one change in a beat has no entry", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.since = func(ctx context.Context, after uint64, limit int) ([]fleet.Change, error) {
				cs, err := b.real.Feed().Since(ctx, after, limit)
				return slices.DeleteFunc(cs, func(c fleet.Change) bool { return c.Kind == fleet.Endpoint }), err
			}
		})
	}, "feed/each change of a record has its entry", "the feed has to have each change of a record"},
	{"lanes are claimed without the filter", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
				r.Parts = nil
				return s.Outbox().Claim(ctx, r)
			}
		})
	}, "parts/Claim gives what is for endpoints of its parts", "Claim of no parts gave a delivery"},
	{"lanes are filtered after the limit", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.claim = func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
				parts := r.Parts
				r.Parts = nil
				ds, err := s.Outbox().Claim(ctx, r)
				return slices.DeleteFunc(ds, func(d deliver.Delivery) bool { return !parts.Has(fleet.PartOf(d.EndpointID)) }), err
			}
		})
	}, "parts/Claim gives what is for endpoints of its parts", "take no place in the limit"},
	{"NextDue is that of all parts", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.nextDue = func(ctx context.Context, _ *fleet.Set) (time.Time, bool, error) { return s.Outbox().NextDue(ctx, nil) }
		})
	}, "parts/NextDue is that of its parts", "among endpoints of its parts"},
	{"deliveries for others wait", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.commit = func(ctx context.Context, batches []*detect.Batch) error {
				for _, batch := range batches {
					batch.Lanes = nil
				}
				return s.Journal().Commit(ctx, batches)
			}
		})
	}, "parts/deliveries for others are due at once: some lanes", "a delivery of the log to a is due at"},
	{"handlers are of a lane, too", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.commit = func(ctx context.Context, batches []*detect.Batch) error {
				for _, batch := range batches {
					if !batch.Lanes.Has(fleet.PartOf(deliver.HandlerEndpoint("log"))) {
						batch.DeliverBy = time.Unix(0, 0)
					}
				}
				return s.Journal().Commit(ctx, batches)
			}
		})
	}, "parts/deliveries for others are due at once: the lane of a handler is no matter", "is due at"},
	{"signals lose what they say", func(s storage.Store) storage.Store {
		return breakFleet(s, func(b *brokenFleet, _ fleet.Members) {
			b.send = func(ctx context.Context, sig fleet.Signal) error {
				sig.Parts = nil
				return b.real.Signals().Send(ctx, sig)
			}
		})
	}, "signals/a signal reaches all that receive", "did not arrive as it was sent"},
}

// earlyFeed adds entries before their records are there.
type earlyFeed struct{ *lateFeed }

func (f earlyFeed) Monitors() monitor.Store {
	return brokenMonitors{f.Store.Monitors(), &broken{createMonitor: f.toldBefore}}
}

func TestPlantedLaneFaults(t *testing.T) { findPlantedInBubble(t, plantedLaneFaults) }
