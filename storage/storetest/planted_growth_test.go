package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/planted"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestPlantedGrowthFaults(t *testing.T) {
	findPlanted(t, []plantedFault{
		{"removes deliveries before their events", func(s storage.Store) storage.Store {
			asked := 0
			return &broken{Store: s, deliveries: func(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
				p, err := s.Log().Deliveries(ctx, q)
				if asked++; asked == 1 {
					p.Total /= 3
				}
				return p, err
			}, events: func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
				if asked == 0 && owner == "acme" {
					return make([]deliver.Event, 800), nil
				}
				if asked == 1 && owner == "acme" {
					return make([]deliver.Event, 799), nil
				}
				return s.Log().Events(ctx, owner, after, limit)
			}}
		}, "retention/many that are too old at once go whole, bit by bit", "want two of each"},
		{"deletes an endpoint in two steps", func(s storage.Store) storage.Store {
			return &broken{Store: s, deleteEndpoint: func(ctx context.Context, owner, id string) error {
				e, err := s.Endpoints().Get(ctx, owner, id)
				if err != nil {
					return err
				}
				e.Status = deliver.EndpointDisabled
				return untilEnded(ctx, []func() error{
					func() error { return s.Endpoints().Update(context.Background(), e) },
					func() error { return s.Endpoints().Delete(context.Background(), owner, id) },
				}, func(_ context.Context, step func() error) error { return step() })
			}}
		}, "lifecycle/Endpoints.Delete is done whole or not at all when its context ends", "done in part"},
		{"says that it has claimed when it gave up", func(s storage.Store) storage.Store {
			return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
				if ctx.Err() != nil {
					return nil, nil
				}
				return s.Outbox().Claim(ctx, r)
			}}
		}, "lifecycle/Outbox.Claim is done whole or not at all when its context ends", "did nothing"},
	})
}

// A store that removes old data more slowly than new data comes is found.
func TestPlantedSlowRemoval(t *testing.T) {
	const find = "retention/removal keeps pace with what is committed"
	kit := fullKit(func(s storage.Store) storage.Store { return s })
	if said := record(t, kit, find); len(said) > 0 {
		t.Errorf("the case reports %q of a sound store", said)
	}
	kit.Open = func(testing.TB) storage.Store {
		return newHandle(memory.New(memory.Options{Now: kit.Clock.Now, Retention: 10 * time.Hour}))
	}
	if said := record(t, kit, find); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "more than the write has added") }) {
		t.Errorf("the case reports %q", said)
	}
}

// storage/memory bounds ids and entries by number, not by time: a kit that says otherwise
// is a store that never forgets.
func TestPlantedNothingForgotten(t *testing.T) {
	for find, says := range map[string]string{
		"retention/ids are forgotten in the end":      "the id of an event is still known",
		"retention/old entries go, and balances stay": "1000 entries of 1000 are there",
	} {
		kit := fullKit(func(s storage.Store) storage.Store { return s })
		kit.IDRetention, kit.EntryRetention = 30*24*time.Hour, 400*24*time.Hour
		c := caseOf(t, find)
		said := planted.ReportsInBubble(t, func(tb testing.TB) { runStoreCase(tb, kit, c) }) // it waits for what does not come
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, says) }) {
			t.Errorf("%s reports %q, want a sentence with %q", find, said, says)
		}
	}
}
