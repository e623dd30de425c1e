package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedOutboxFaults are stores whose outbox, log or ledger is wrong.
var plantedOutboxFaults = []plantedFault{
	{"compares an attempt with the last one only", func(s storage.Store) storage.Store {
		last := map[string]int{}
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			for i, st := range ss {
				if st.Attempt != nil && st.Attempt.N < last[st.DeliveryID] {
					again := *st.Attempt
					again.N += 100
					ss[i].Attempt = &again
				} else if st.Attempt != nil {
					last[st.DeliveryID] = st.Attempt.N
				}
			}
			return s.Outbox().Settle(ctx, ss...)
		}}
	}, "outbox/Settle call by call: an attempt before the last changes nothing when it is settled again", "once"},
	{"drops an attempt that comes late", func(s storage.Store) storage.Store {
		last := map[string]int{}
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			ss = slices.DeleteFunc(ss, func(st deliver.Settlement) bool {
				late := st.Attempt.N < last[st.DeliveryID]
				last[st.DeliveryID] = max(last[st.DeliveryID], st.Attempt.N)
				return late
			})
			return s.Outbox().Settle(ctx, ss...)
		}}
	}, "outbox/Settle in one call: an attempt that comes after a later one is recorded, too", "append each attempt"},
	{"drops an attempt that outlived its endpoint", func(s storage.Store) storage.Store {
		return &broken{Store: s, settle: func(ctx context.Context, ss ...deliver.Settlement) error {
			ss = slices.DeleteFunc(ss, func(st deliver.Settlement) bool {
				e, err := s.Log().Delivery(ctx, "acme", st.DeliveryID)
				return err == nil && e.EndpointDeleted
			})
			return s.Outbox().Settle(ctx, ss...)
		}}
	}, "endpoints/under way when its endpoint is deleted, settled call by call: one that succeeds", "got failed true 0[], want delivered false 1[1]"},
	{"says of what a deletion ended that it failed", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Log().Deliveries(ctx, q)
			for i := range p.Entries {
				p.Entries[i].EndpointDeleted = false
			}
			return p, err
		}}
	}, "endpoints/the log shows deliveries that a deletion ended", "show what ended with its endpoint"},
	{"settles one by one, for all to see", func(s storage.Store) storage.Store {
		looks := make(looks)
		return &broken{Store: s,
			settle: func(ctx context.Context, ss ...deliver.Settlement) error {
				if err := s.Outbox().Settle(ctx, ss[0]); err != nil {
					return err
				}
				looks.wait(ctx, 2)
				return s.Outbox().Settle(ctx, ss[1:]...)
			},
			deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
				defer looks.taken()
				return s.Log().Deliveries(ctx, q)
			},
		}
	}, "outbox/a call of Settle is seen whole", "seen in part"},
	{"counts Limit in 16 bits", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Limit = int(int16(r.Limit))
			return s.Outbox().Claim(ctx, r)
		}}
	}, "outbox/Claim gives all that is due for the largest Limit", "gives all that is due"},
	{"skips sixteen endpoints", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			r.Skip = r.Skip[:min(len(r.Skip), 16)]
			return s.Outbox().Claim(ctx, r)
		}}
	}, "outbox/Claim leaves out a thousand endpoints and one", "leaves out a thousand"},
	{"counts removed events", func(s storage.Store) storage.Store {
		return &broken{Store: s, events: func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
			evs, err := s.Log().Events(ctx, owner, after, limit)
			return slices.DeleteFunc(evs, func(ev deliver.Event) bool { return ev.Seq > after+uint64(limit) }), err
		}}
	}, "retention/what is left is shown, counted and found by its number", "neither to count it"},
	{"does not show what ended with its endpoint", func(s storage.Store) storage.Store {
		return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
			p, err := s.Log().Deliveries(ctx, q)
			p.Entries = slices.DeleteFunc(p.Entries, func(e deliver.LogEntry) bool { return e.State == deliver.StateFailed && len(e.Log) == 0 })
			return p, err
		}}
	}, "endpoints/the log shows deliveries that a deletion ended", "show what ended with its endpoint"},
	{"looks at the balance first", func(s storage.Store) storage.Store {
		return &broken{Store: s, reserve: func(ctx context.Context, r billing.Reservation) error {
			if b, err := s.Ledger().Balance(ctx, r.Owner); err == nil && b.Available < r.Amount {
				return billing.ErrInsufficient
			}
			return s.Ledger().Reserve(ctx, r)
		}}
	}, "ledger/Reserve again after its end is refused as such, though it is not covered", "Reserve of 99"},
	{"has an error of its own for an entry without id", func(s storage.Store) storage.Store {
		return &broken{Store: s, appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
			for _, e := range entries {
				if e.ID == "" {
					return errors.New("no id")
				}
			}
			return s.Ledger().Append(ctx, entries...)
		}}
	}, "ledger/an entry without id fails all of the call", "want a *FieldError"},
	{"refuses another owner's reservation", func(s storage.Store) storage.Store {
		of := map[string]string{}
		return &broken{Store: s, reserve: func(ctx context.Context, r billing.Reservation) error {
			if owner, known := of[r.ID]; known && owner != r.Owner {
				return billing.ErrResolved
			}
			of[r.ID] = r.Owner
			return s.Ledger().Reserve(ctx, r)
		}}
	}, "ledger/Reserve under another owner's open id changes nothing", "another owner's open id"},
	{"appends one by one", func(s storage.Store) storage.Store {
		looks := make(looks)
		return &broken{Store: s,
			appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
				for i, e := range entries {
					if i == 1 {
						looks.wait(ctx, 2)
					}
					if err := s.Ledger().Append(ctx, e); err != nil {
						return err
					}
				}
				return nil
			},
			balance: func(ctx context.Context, owner string) (billing.Balance, error) {
				defer looks.taken()
				return s.Ledger().Balance(ctx, owner)
			},
		}
	}, "ledger/entries of one call stay together beside other calls", "seen in part"},
}

func TestPlantedOutboxFaults(t *testing.T) { findPlanted(t, plantedOutboxFaults) }

// looks lets a fault wait until it has been looked at.
type looks chan struct{}

func (l looks) taken() {
	select {
	case l <- struct{}{}:
	default:
	}
}

// wait for n looks to end, of which all but the first have begun meanwhile, or for
// the end of the case.
func (l looks) wait(ctx context.Context, n int) {
	for range n {
		select {
		case <-l:
		case <-ctx.Done():
			return
		}
	}
}
