package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// change is a store that changes batches before its Commit, and back after it.
func change(s storage.Store, before, after func(*detect.Batch)) storage.Store {
	return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
		given := make([]detect.Batch, len(batches))
		for i, b := range batches {
			given[i] = *b
			b.Events = slices.Clone(b.Events)
			before(b)
		}
		err := s.Journal().Commit(ctx, batches)
		for i, b := range batches {
			copy(given[i].Events, b.Events)
			b.Cursor, b.Events, b.Charges = given[i].Cursor, given[i].Events, given[i].Charges
			after(b)
		}
		return err
	}}
}

func unchanged(*detect.Batch) {}

// known reports whether all events of a batch are known.
func known() func(*detect.Batch) bool {
	seen := map[string]bool{}
	return func(b *detect.Batch) bool {
		all := len(b.Events) > 0
		for _, ev := range b.Events {
			all = all && seen[ev.ID]
			seen[ev.ID] = true
		}
		return all
	}
}

// plantedJournalFaults are stores that commit wrongly.
var plantedJournalFaults = []plantedFault{
	{"drops the cursor of a batch that is known", func(s storage.Store) storage.Store {
		known := known()
		return change(s, func(b *detect.Batch) {
			if known(b) {
				b.Cursor = nil
			}
		}, unchanged)
	}, "journal/a batch of known events moves its cursor and makes its charges", "store the cursor of a batch whose events are all known"},
	{"skips the charges of a batch that is known", func(s storage.Store) storage.Store {
		known := known()
		return change(s, func(b *detect.Batch) {
			if known(b) {
				b.Charges = nil
			}
		}, unchanged)
	}, "journal/a batch of known events moves its cursor and makes its charges", "make the charges of a batch whose events are all known"},
	{"knows ids per owner", func(s storage.Store) storage.Store {
		return change(s, func(b *detect.Batch) {
			for i := range b.Events {
				b.Events[i].ID += b.Events[i].Source.Owner
			}
		}, unchanged)
	}, "journal/an event id is known over all owners", "knew from another owner"},
	{"compares ids without case", func(s storage.Store) storage.Store {
		return change(s, func(b *detect.Batch) {
			for i := range b.Events {
				b.Events[i].ID = strings.ToLower(b.Events[i].ID)
			}
		}, unchanged)
	}, "values/texts that differ in one character are different", "compared byte by byte"},
	{"makes no more than 64 deliveries of an event", func(s storage.Store) storage.Store {
		return change(s, func(b *detect.Batch) {
			for i, ev := range b.Events {
				b.Events[i].Handlers = ev.Handlers[:min(len(ev.Handlers), 64)]
			}
		}, unchanged)
	}, "journal/an event has as many deliveries as receivers", "for each receiver, however many"},
	{"replaces Batch.Deliveries", func(s storage.Store) storage.Store {
		return change(s, func(b *detect.Batch) { b.Deliveries = nil }, unchanged)
	}, "journal/what Commit has to tell is appended to what a batch has", "append to Batch.Deliveries"},
	{"names the last unpaid charge only", func(s storage.Store) storage.Store {
		return change(s, unchanged, func(b *detect.Batch) { b.Unpaid = b.Unpaid[max(len(b.Unpaid)-1, 0):] })
	}, "journal/a charge that is not covered is named, each of several", "has to name the charges"},
	{"forgets an event whose charge was not paid", func(s storage.Store) storage.Store {
		unpaid := false
		return change(s, func(b *detect.Batch) {
			for i := range b.Events {
				if unpaid {
					b.Events[i].ID += "'"
				}
			}
		}, func(b *detect.Batch) { unpaid = len(b.Unpaid) > 0 })
	}, "journal/an event whose charge was not paid stays known", "because its charge was not paid"},
	{"stamps events that are known", func(s storage.Store) storage.Store {
		return change(s, unchanged, func(b *detect.Batch) {
			for i := range b.Events {
				b.Events[i].CommittedAt = time.Unix(0, 0)
			}
		})
	}, "journal/a known event in a batch keeps all but its Seq", "and no more"},
	{"keeps old gaps", func(s storage.Store) storage.Store {
		var gaps []detect.Gap
		return change(s, func(b *detect.Batch) {
			if len(b.Cursor.Gaps) == 0 {
				c := *b.Cursor
				c.Gaps, b.Cursor = gaps, &c
			}
			gaps = b.Cursor.Gaps
		}, unchanged)
	}, "journal/a cursor's gaps are replaced, be they fewer or more", "replace the gaps of a cursor"},
	{"stores the cursor of the batch that it refuses", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			err := s.Journal().Commit(ctx, batches)
			var refused *detect.BatchError
			if errors.As(err, &refused) {
				s.Journal().Commit(ctx, []*detect.Batch{{Cursor: refused.Batch.Cursor}})
			}
			return err
		}}
	}, "journal/an event without ID fails the whole commit", "stored a cursor"},
	{"shows cursors before their events", func(s storage.Store) storage.Store {
		looks := make(looks)
		return &broken{Store: s,
			commit: func(ctx context.Context, batches []*detect.Batch) error {
				s.Journal().Commit(ctx, []*detect.Batch{{Cursor: batches[0].Cursor}})
				looks.wait(ctx, 4) // a look at all roles has two at events
				return s.Journal().Commit(ctx, batches)
			},
			events: func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
				defer looks.taken()
				return s.Log().Events(ctx, owner, after, limit)
			},
		}
	}, "journal/a commit is seen whole in all roles", "seen in part"},
	{"forgets the events of a deleted endpoint", func(s storage.Store) storage.Store {
		deleted := false
		f := change(s, func(b *detect.Batch) {
			for i := range b.Events {
				if deleted {
					b.Events[i].ID += "'"
				}
			}
		}, unchanged).(*broken)
		f.deleteEndpoint = func(ctx context.Context, owner, id string) error {
			deleted = true
			return s.Endpoints().Delete(ctx, owner, id)
		}
		return f
	}, "endpoints/the events of a deleted endpoint stay known", "forgot an event"},
}

func TestPlantedJournalFaults(t *testing.T) { findPlanted(t, plantedJournalFaults) }
