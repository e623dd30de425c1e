package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/planted"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedFault is a broken store and the case that has to find it.
type plantedFault struct {
	name  string
	plant func(storage.Store) storage.Store
	find  string // the case
	says  string // part of what it reports
}

var plantedFaults = []plantedFault{
	{"forgets an id that was found again", forgetsOnConflict, "journal/an id in three commits is one event", "accepted an event whose id it knew"},
	{"commits batch by batch", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			for _, b := range batches {
				if err := s.Journal().Commit(ctx, []*detect.Batch{b}); err != nil {
					return err
				}
			}
			return nil
		}}
	}, "journal/an event without Body fails the whole commit", "Commit stored the events of a batch although another batch of the same call failed: all or nothing"},
	{"names no batch at fault", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			err := s.Journal().Commit(ctx, batches)
			var be *detect.BatchError
			if errors.As(err, &be) {
				return be.Err
			}
			return err
		}}
	}, "journal/a cursor without Target fails the whole commit", "*detect.BatchError that names the batch"},
	{"accepts an event twice", acceptsDuplicates, "journal/an id in two commits is one event", "accepted an event whose id it knew"},
	{"leaves holes in the numbers", leavesHoles, "journal/an id in two commits is one event", "left a hole"},
	{"leaves Seq of a known event", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			var before []uint64
			for _, b := range batches {
				for _, ev := range b.Events {
					before = append(before, ev.Seq)
				}
			}
			err := s.Journal().Commit(ctx, batches)
			for _, b := range batches {
				for i := range b.Events {
					if b.Events[i].Seq == 0 {
						b.Events[i].Seq = before[0]
					}
					before = before[1:]
				}
			}
			return err
		}}
	}, "journal/a batch committed again says that all is known", "Seq of a known event to 0"},
	{"gives the cursor before the last", oldCursors, "journal/the last cursor counts, even if it is earlier", "committed last"},
	{"moves cursors forward only", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(ctx context.Context, batches []*detect.Batch) error {
			for _, b := range batches {
				if b.Cursor == nil {
					continue
				}
				if c, _ := s.Journal().Cursors(ctx, b.Cursor.Target); len(c) > 0 && c[0].Since.After(b.Cursor.Since) {
					b.Cursor = &c[0]
				}
			}
			return s.Journal().Commit(ctx, batches)
		}}
	}, "journal/the last cursor counts, even if it is earlier", "committed last"},
	{"settles without the log", func(s storage.Store) storage.Store {
		return &broken{Store: s, delivery: func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Log().Delivery(ctx, owner, id)
			e.Log = nil
			return e, err
		}}
	}, "outbox/Settle call by call: the log has all attempts", "append each attempt to the delivery's log once"},
	{"settles one by one", func(s storage.Store) storage.Store {
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			for _, one := range ss {
				if err := s.Outbox().Settle(ctx, one); err != nil {
					return err
				}
			}
			return nil
		}}
	}, "outbox/Settle refuses an unknown state, and all with it", "all or none"},
	{"claims without lease", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			lease := r.Lease
			r.Lease = 0
			ds, err := s.Outbox().Claim(ctx, r)
			for i := range ds {
				ds[i].Due = r.Now.Add(lease)
			}
			return ds, err
		}}
	}, "outbox/nobody gets a delivery while its lease lasts", "Claim gave a delivery again while its lease lasted"},
	{"claims without lease, in a race", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Lease = 0
			return s.Outbox().Claim(ctx, r)
		}}
	}, "outbox/of concurrent claimants one gets a delivery", "within its lease"},
	{"skips nobody", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Skip = nil
			return s.Outbox().Claim(ctx, r)
		}}
	}, "outbox/Claim leaves out an endpoint to skip", "leaves out an endpoint"},
	{"claims the newest first", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			ds, err := s.Outbox().Claim(ctx, r)
			slices.Reverse(ds)
			return ds, err
		}}
	}, "outbox/any mix of calls gives what a sorted list would", "the longest due first"},
	{"knows nothing of leases in NextDue", nextDueIgnoresLeases, "outbox/NextDue is the smallest Due of what is open", "from the end of its lease"},
	{"leaves the deliveries of a deleted endpoint", func(s storage.Store) storage.Store {
		return &broken{Store: s, deleteEndpoint: func(ctx context.Context, owner, id string) error {
			e, err := s.Endpoints().Get(ctx, owner, id)
			if err != nil {
				return err
			}
			e.Status, e.URL = deliver.EndpointDisabled, "deleted"
			return s.Endpoints().Update(ctx, e)
		}}
	}, "endpoints/deleting an endpoint ends its open deliveries", "in StateFailed"},
	{"goes below zero", goesBelowZero, "ledger/Reserve of more than there is is refused", "Reserve of 11"},
	{"gives back what was spent", func(s storage.Store) storage.Store {
		return &broken{Store: s, release: func(ctx context.Context, id string) error {
			if err := s.Ledger().Release(ctx, id); !errors.Is(err, billing.ErrResolved) {
				return err
			}
			return s.Ledger().Append(ctx, billing.Entry{ID: "back " + id, Owner: "acme", Amount: 4})
		}}
	}, "ledger/Release after Commit is refused", "Release after Commit"},
	{"subtracts what is reserved from an entry's balance", func(s storage.Store) storage.Store {
		return &broken{Store: s, entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			p, err := s.Ledger().Entries(ctx, q)
			b, _ := s.Ledger().Balance(ctx, q.Owner)
			for i := range p.Entries {
				p.Entries[i].Balance -= b.Reserved
			}
			return p, err
		}}
	}, "ledger/the balances of entries made in parallel add up", "what is reserved is not subtracted"},
	{"does not ask whose monitor it is", func(s storage.Store) storage.Store {
		return &broken{Store: s, getMonitor: func(ctx context.Context, owner, id string) (found monitor.Monitor, err error) {
			err = s.Monitors().Scan(ctx, func(m monitor.Monitor) error {
				if m.ID == id {
					found = m
				}
				return nil
			})
			if err == nil && found.ID == "" {
				err = monitor.ErrNotFound
			}
			return found, err
		}}
	}, "monitors/Get does not find another owner's id", "Get does not find another owner's id"},
	{"does not ask whose delivery it is", func(s storage.Store) storage.Store {
		return &broken{Store: s, delivery: func(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
			e, err := s.Log().Delivery(ctx, owner, id)
			if errors.Is(err, deliver.ErrDeliveryNotFound) {
				return s.Log().Delivery(ctx, "acme", id)
			}
			return e, err
		}}
	}, "log/Delivery finds an owner's own and no other", "another owner's"},
	{"counts the page, not all", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Log().Deliveries(ctx, q)
			p.Total = len(p.Entries)
			return p, err
		}}
	}, "log/Deliveries shows the first page", "Total has to count all deliveries that match"},
	{"counts all monitors, whatever their status", func(s storage.Store) storage.Store {
		return &broken{Store: s, listMonitors: func(ctx context.Context, q monitor.Query) (monitor.Page, error) {
			p, err := s.Monitors().List(ctx, q)
			q.Status = ""
			all, _ := s.Monitors().List(ctx, q)
			p.Total = all.Total
			return p, err
		}}
	}, "monitors/List shows one status", "Total has to count all monitors that match"},
	{"keeps the caller's memory", sharesMemory, "monitors/what Create was given shares no memory with the store", "copy records on their way in and out"},
	{"updates whatever the version", func(s storage.Store) storage.Store {
		return &broken{Store: s, updateMonitor: func(ctx context.Context, m monitor.Monitor) error {
			if now, err := s.Monitors().Get(ctx, m.Owner, m.ID); err == nil {
				m.Version = now.Version
			}
			return s.Monitors().Update(ctx, m)
		}}
	}, "monitors/Update of a version that is not stored is a conflict and changes nothing", "older than the stored one"},
	{"does not look at the context", func(s storage.Store) storage.Store {
		return &broken{Store: s, commit: func(_ context.Context, batches []*detect.Batch) error {
			return s.Journal().Commit(context.Background(), batches)
		}}
	}, "lifecycle/Journal honours a context that has ended", "Journal.Commit has to give back the error"},
	{"appends an entry again when asked again", func(s storage.Store) storage.Store {
		n := 0
		return &broken{Store: s, appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
			for i := range entries {
				n++
				entries[i].ID += fmt.Sprint(" ", n)
			}
			return s.Ledger().Append(ctx, entries...)
		}}
	}, "crash/work cut after any of its calls is done by doing it again", "cut at call 3"},
	{"numbers attempts itself", func(s storage.Store) storage.Store {
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			for i := range ss {
				if a := ss[i].Attempt; a != nil { // numbers attempts itself
					if e, err := s.Log().Delivery(ctx, "acme", ss[i].DeliveryID); err == nil {
						again := *a
						again.N = e.Attempts + 1
						ss[i].Attempt = &again
					}
				}
			}
			return s.Outbox().Settle(ctx, ss...)
		}}
	}, "outbox/Settle call by call: an attempt recorded already changes nothing", "once"},
}

func TestPlantedStoreFaults(t *testing.T) { findPlanted(t, plantedFaults) }

// findPlanted: each planted fault is found by its case, which finds nothing
// without it.
func findPlanted(t *testing.T, faults []plantedFault) { findPlantedBy(t, planted.Reports, faults) }

// findPlantedInBubble is findPlanted in virtual time: who sleeps between two steps is
// overtaken by all the others, however busy the machine is.
func findPlantedInBubble(t *testing.T, faults []plantedFault) {
	findPlantedBy(t, planted.ReportsInBubble, faults)
}

func findPlantedBy(t *testing.T, reports func(*testing.T, func(testing.TB)) []string, faults []plantedFault) {
	for _, row := range faults {
		t.Run(row.name, func(t *testing.T) {
			said := func(plant func(storage.Store) storage.Store) []string {
				return reports(t, func(tb testing.TB) { runStoreCase(tb, fullKit(plant), caseOf(t, row.find)) })
			}
			planted.Find(t, row.find, row.says, said(func(s storage.Store) storage.Store { return s }), said(row.plant))
		})
	}
}
