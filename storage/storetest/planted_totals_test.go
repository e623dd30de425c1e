package storetest

import (
	"context"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// plantedTotals are stores that count the totals of sources wrong.
var plantedTotals = []plantedFault{
	{"adds up the entries that are left", func(s storage.Store) storage.Store {
		return &broken{Store: s, totals: func(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
			totals := make([]billing.Credits, len(sources))
			for i, src := range sources {
				// As of a store that keeps 50 entries of an owner.
				p, err := s.Ledger().Entries(ctx, billing.EntryQuery{Owner: src.Owner, PageSize: 50})
				if err != nil {
					return nil, err
				}
				for _, e := range p.Entries {
					if of, ok := e.Source(); ok && of == src {
						totals[i] += e.Amount
					}
				}
			}
			return totals, nil
		}}
	}, "ledger/a total outlives the entries that it was made of", "want -300"},
	{"counts an entry again when it is repeated", func(s storage.Store) storage.Store {
		counted := map[billing.Source]billing.Credits{}
		return &broken{Store: s,
			appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
				err := s.Ledger().Append(ctx, entries...)
				for _, e := range entries {
					if of, ok := e.Source(); ok && err == nil {
						counted[of] += e.Amount
					}
				}
				return err
			},
			totals: func(_ context.Context, sources ...billing.Source) ([]billing.Credits, error) {
				var totals []billing.Credits
				for _, src := range sources {
					totals = append(totals, counted[src])
				}
				return totals, nil
			},
		}
	}, "ledger/an entry that is known already counts once", "want -11 0"},
	{"leaves out an unknown source", func(s storage.Store) storage.Store {
		return &broken{Store: s, totals: func(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
			totals, err := s.Ledger().Totals(ctx, sources...)
			return slices.DeleteFunc(totals, func(c billing.Credits) bool { return c == 0 }), err
		}}
	}, "ledger/Totals answers in the order of the question, and 0 for an unknown source", "want -5 0 -3 0 0 -5"},
	{"mixes up kinds", func(s storage.Store) storage.Store {
		return &broken{Store: s, totals: func(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
			sources = slices.Clone(sources)
			for i := range sources {
				if sources[i].Kind == billing.KindMonitor {
					sources[i].Kind = billing.KindRule
				}
			}
			return s.Ledger().Totals(ctx, sources...)
		}}
	}, "ledger/a total is the sum of the entries of one owner, kind and source", "want -22 -5 -7 -11"},
	{"keeps the total of a deleted rule", func(s storage.Store) storage.Store {
		return keepsTotals{s, new([]billing.Credits)}
	}, "ledger/a total goes with the record of its source", "want 0 -5 -7 -11"},
}

func TestPlantedTotals(t *testing.T) { findPlanted(t, plantedTotals) }

// keepsTotals is a store that keeps the total of a rule that was deleted.
type keepsTotals struct {
	storage.Store
	before *[]billing.Credits
}

func (k keepsTotals) Rules() rule.Store { return keepsTotalsOfRules{k.Store.Rules(), k} }

func (k keepsTotals) Ledger() billing.Ledger {
	return brokenLedger{k.Store.Ledger(), &broken{totals: func(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
		if *k.before != nil {
			return *k.before, nil
		}
		return k.Store.Ledger().Totals(ctx, sources...)
	}}}
}

type keepsTotalsOfRules struct {
	rule.Store
	k keepsTotals
}

func (r keepsTotalsOfRules) Delete(ctx context.Context, owner, id string) error {
	if err := r.Store.Delete(ctx, owner, id); err != nil {
		return err
	}
	*r.k.before = []billing.Credits{-3, -5, -7, -11}
	return nil
}
