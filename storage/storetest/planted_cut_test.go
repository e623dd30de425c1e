package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedCutFaults are stores that stop halfway, truncate times, or forget ids.
var plantedCutFaults = []plantedFault{
	{"stops between batches", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			return untilEnded(ctx, batches, func(ctx context.Context, b *detect.Batch) error { return s.Journal().Commit(ctx, []*detect.Batch{b}) })
		}}
	}, "lifecycle/Journal.Commit is done whole or not at all when its context ends", "kept a part of its batches"},
	{"stops between settlements", func(s storage.Store) storage.Store {
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			return untilEnded(ctx, ss, func(ctx context.Context, one deliver.Settlement) error { return s.Outbox().Settle(ctx, one) })
		}}
	}, "lifecycle/Outbox.Settle is done whole or not at all when its context ends", "kept a part of its settlements"},
	{"stops between entries", func(s storage.Store) storage.Store {
		return &broken{Store: s, appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
			return untilEnded(ctx, entries, func(ctx context.Context, e billing.Entry) error { return s.Ledger().Append(ctx, e) })
		}}
	}, "lifecycle/Ledger.Append is done whole or not at all when its context ends", "kept a part of its entries"},
	{"claims by whole milliseconds", claimsAt(func(now time.Time) time.Time { return now.Truncate(time.Millisecond) }), "outbox/Claim compares to the microsecond", "due by then"},
	{"claims up to a millisecond early", claimsAt(func(now time.Time) time.Time { return now.Truncate(time.Millisecond).Add(time.Millisecond) }), "outbox/Claim compares to the microsecond", "due by then"},
	{"orders by whole milliseconds", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			ds, err := s.Outbox().Claim(ctx, r)
			slices.SortFunc(ds, func(a, b deliver.Delivery) int { return int(a.Event.Seq) - int(b.Event.Seq) })
			return ds, err
		}}
	}, "outbox/Claim gives the longest due first to the microsecond", "longest due first"},
	{"ends leases by whole milliseconds", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Lease = r.Now.Add(r.Lease).Truncate(time.Millisecond).Sub(r.Now)
			return s.Outbox().Claim(ctx, r)
		}}
	}, "outbox/a lease and a retry end to the microsecond", "Now + Lease, to the microsecond"},
	{"retries by whole milliseconds", func(s storage.Store) storage.Store {
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			for i := range ss {
				ss[i].Due = ss[i].Due.Truncate(time.Millisecond)
			}
			return s.Outbox().Settle(ctx, ss...)
		}}
	}, "outbox/a lease and a retry end to the microsecond", "a microsecond before the end of a retry's wait"},
	{"forgets the id of a removed event that is met again", func(s storage.Store) storage.Store {
		return forgetful(s, func(met int, _ time.Duration) bool { return met > 1 })
	}, "retention/the id of a removed event survives being met again and again", "however often it is met again"},
	{"forgets ids after an hour", func(s storage.Store) storage.Store {
		return forgetful(s, func(_ int, age time.Duration) bool { return age > 2*time.Hour })
	}, "retention/ids stay known for a week after what they were for", "after 1 days"},
}

func TestPlantedCutFaults(t *testing.T) { findPlanted(t, plantedCutFaults) }

// untilEnded calls one after the other, until one fails or the context has ended.
func untilEnded[T any](ctx context.Context, list []T, do func(context.Context, T) error) error {
	for _, one := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := do(ctx, one); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func claimsAt(cut func(time.Time) time.Time) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			now := cut(r.Now)
			r.Now, r.Lease = now, r.Lease+r.Now.Sub(now)
			return s.Outbox().Claim(ctx, r)
		}}
	}
}

// forgetful makes an event new whose id should be known, once it was removed and
// is to be forgotten: by how often it was met since, and by how long ago it was
// committed, as the stamps of other events tell.
func forgetful(s storage.Store, forgets func(met int, age time.Duration) bool) storage.Store {
	made, met := map[string]time.Time{}, map[string]int{}
	var now time.Time
	return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
		there := map[string]bool{}
		evs, err := s.Log().Events(ctx, "acme", 0, 100)
		if err != nil {
			return err
		}
		for _, ev := range evs {
			there[ev.ID] = true
		}
		for _, b := range batches {
			for i := range b.Events {
				ev := &b.Events[i]
				if at, known := made[ev.ID]; known && !there[ev.ID] {
					if met[ev.ID]++; forgets(met[ev.ID], now.Sub(at)) {
						ev.ID += "'"
					}
				}
			}
		}
		err = s.Journal().Commit(ctx, batches)
		for _, b := range batches {
			for _, ev := range b.Events {
				if ev.Seq > 0 {
					made[ev.ID], now = ev.CommittedAt, ev.CommittedAt
				}
			}
		}
		return err
	}}
}
