package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// Each seed makes different calls, on a store of its own, and a fault of the last store is
// found.
func TestSeeds(t *testing.T) {
	const name = "outbox/any mix of calls gives what a sorted list would"
	for _, row := range []struct{ seeds, want int }{{0, sized(1, 3)}, {1, 1}, {5, 5}} {
		var made []string // by each store's Claims
		kit := fullKit(func(s storage.Store) storage.Store {
			made = append(made, "")
			store := len(made)
			return &broken{Store: s, claim: func(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
				made[store-1] += fmt.Sprint(r.Limit, r.Skip)
				ds, err := s.Ports().Outbox.Claim(ctx, r)
				if store == row.want {
					slices.Reverse(ds)
				}
				return ds, err
			}}
		})
		kit.Seeds = row.seeds
		said := reportsOf(t, kit, name)
		if len(said) != 1 || !strings.Contains(said[0], "the longest due first") {
			t.Errorf("Seeds %d: %q is reported, want the fault of the last store", row.seeds, said)
		}
		if len(made) != row.want {
			t.Errorf("Seeds %d: %d stores are opened, want %d", row.seeds, len(made), row.want)
		}
		slices.Sort(made)
		if len(slices.Compact(made)) != row.want {
			t.Errorf("Seeds %d: two stores had the same calls", row.seeds)
		}
	}
	if err := (&Kit{Open: fullKit(nil).Open, Seeds: -1}).validate(); err == nil || !strings.Contains(err.Error(), "Kit.Seeds -1") {
		t.Errorf("Seeds -1: %v", err)
	}
}
