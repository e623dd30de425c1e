package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedRestartFaults are what goes wrong when data is opened again.
var plantedRestartFaults = []struct {
	name   string
	reopen func(storage.Store) storage.Store
	find   string // the case
	says   string // part of what it reports
}{
	{"forgets the ids of removed events", func(s storage.Store) storage.Store {
		return change(s, func(b *detect.Batch) {
			for i, ev := range b.Events {
				if !slices.ContainsFunc(eventsNow(s, ev.Source.Owner), func(e deliver.Event) bool { return e.ID == ev.ID }) {
					b.Events[i].ID += "'"
				}
			}
		}, unchanged)
	}, "restart/what was removed stays known over a restart, and numbers go on", "ids of removed events"},
	{"takes the last number from what is left", func(s storage.Store) storage.Store {
		last := map[string]uint64{}
		return change(s, unchanged, func(b *detect.Batch) {
			for i, ev := range b.Events {
				if ev.Seq != 0 {
					last[ev.Source.Owner]++
					b.Events[i].Seq = last[ev.Source.Owner]
				}
			}
		})
	}, "restart/what was removed stays known over a restart, and numbers go on", "numbers have to continue"},
	{"brings back a deleted monitor", func(s storage.Store) storage.Store {
		s.Monitors().Create(context.Background(), monitor.Monitor{ID: "full", Owner: "acme"})
		return s
	}, "restart/what was deleted stays deleted over a restart", "a deleted monitor is there again"},
	{"brings back a deleted rule", func(s storage.Store) storage.Store {
		s.Rules().Create(context.Background(), rule.Rule{ID: "full", Owner: "acme"})
		return s
	}, "restart/what was deleted stays deleted over a restart", "a deleted rule is there again"},
	{"brings back a deleted endpoint", func(s storage.Store) storage.Store {
		s.Endpoints().Create(context.Background(), deliver.Endpoint{ID: "a", Source: acme, Status: deliver.EndpointActive})
		return s
	}, "restart/what was deleted stays deleted over a restart", "a deleted endpoint is there again"},
	{"enables endpoints", func(s storage.Store) storage.Store {
		list, _ := s.Endpoints().List(context.Background(), "acme", "")
		for _, e := range list {
			e.Status = deliver.EndpointActive
			s.Endpoints().Update(context.Background(), e)
		}
		return s
	}, "restart/events stay known after a restart, and numbers go on", "endpoints that are active, and no others"},
	{"begins versions again", func(s storage.Store) storage.Store {
		m, _ := s.Monitors().Get(context.Background(), "acme", "kept")
		m.Version = 0
		s.Monitors().Delete(context.Background(), "acme", "kept")
		s.Monitors().Create(context.Background(), m)
		return s
	}, "restart/monitors survive a restart", "Version"},
	{"loses what another owner has", func(s storage.Store) storage.Store {
		s.Ledger().Append(context.Background(), billing.Entry{ID: "lost", Owner: "globex", Amount: -5})
		return s
	}, "restart/balances survive a restart", "balances"},
	{"loses when reservations expire", func(s storage.Store) storage.Store {
		was, _ := s.Ledger().Balance(context.Background(), "acme")
		return &broken{Store: s, balance: func(context.Context, string) (billing.Balance, error) { return was, nil }}
	}, "restart/a reservation expires at its time though a restart is between", "as it would have without"},
	{"forgets what has expired", func(s storage.Store) storage.Store {
		return &broken{Store: s, release: func(context.Context, string) error { return billing.ErrNotFound }}
	}, "restart/what has expired before a restart is known as given back", "Release of"},
	{"gives the newest first", func(s storage.Store) storage.Store {
		return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
			ds, err := s.Outbox().Claim(ctx, r)
			slices.Reverse(ds)
			return ds, err
		}}
	}, "restart/what was made first comes first over a restart", "made first"},
}

func eventsNow(s storage.Store, owner string) []deliver.Event {
	evs, _ := s.Log().Events(context.Background(), owner, 0, 1000)
	return evs
}

func TestPlantedRestartFaults(t *testing.T) {
	for _, row := range plantedRestartFaults {
		t.Run(row.name, func(t *testing.T) {
			kit := fullKit(func(s storage.Store) storage.Store { return s })
			if said := record(t, kit, row.find); len(said) > 0 {
				t.Errorf("%s reports %q of a sound store", row.find, said)
			}
			kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
				s.Close(t.Context())
				return newHandle(row.reopen(dataOf(s)))
			}
			said := record(t, kit, row.find)
			if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, row.says) }) {
				t.Errorf("%s reports %q, want a sentence with %q", row.find, said, row.says)
			}
		})
	}
}

// A store that loses everything in a restart fails the case of everything that it loses.
func TestPlantedLossOfEverything(t *testing.T) {
	for _, find := range []string{
		"restart/monitors survive a restart", "restart/events stay known after a restart, and numbers go on",
		"restart/reservations stay open over a restart", "restart/what was acknowledged beside Close is there after it",
	} {
		t.Run(find, func(t *testing.T) {
			kit := fullKit(func(s storage.Store) storage.Store { return s })
			kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
				s.Close(t.Context())
				return kit.Open(t) // without its data
			}
			if said := record(t, kit, find); len(said) == 0 {
				t.Errorf("%s finds nothing in a store that loses everything", find)
			}
		})
	}
}
