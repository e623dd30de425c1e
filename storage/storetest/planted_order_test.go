package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// namesFirst asks whether the name is taken before it looks at the record.
func namesFirst(s storage.Store) storage.Store {
	return &broken{Store: s, updateMonitor: func(ctx context.Context, m monitor.Monitor) error {
		taken := false
		err := s.Monitors().Scan(ctx, func(other monitor.Monitor) error {
			taken = taken || other.Owner == m.Owner && other.Name == m.Name && other.ID != m.ID
			return nil
		})
		if taken {
			err = monitor.ErrDuplicate
		}
		if err != nil {
			return err
		}
		return s.Monitors().Update(ctx, m)
	}}
}

// urlsFirst asks whether the URL is taken before it looks at the endpoint.
func urlsFirst(s storage.Store) storage.Store {
	return &broken{Store: s, updateEndpoint: func(ctx context.Context, e deliver.Endpoint) error {
		all, err := s.Endpoints().List(ctx, e.Source.Owner, e.Source.ID)
		for _, other := range all {
			if other.URL == e.URL && other.ID != e.ID {
				return deliver.ErrEndpointDuplicate
			}
		}
		if err != nil {
			return err
		}
		return s.Endpoints().Update(ctx, e)
	}}
}

// pagedRules is a store whose rules are listed by another Query.
type pagedRules struct {
	storage.Store
	edit func(*rule.Query)
}

func (p pagedRules) Rules() rule.Store { return pagedRuleStore{p.Store.Rules(), p.edit} }

type pagedRuleStore struct {
	rule.Store
	edit func(*rule.Query)
}

func (p pagedRuleStore) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	p.edit(&q)
	return p.Store.List(ctx, q)
}

// Stores that return the wrong one of two errors, or page in their own way.
func TestPlantedOrderFaults(t *testing.T) {
	findPlanted(t, []plantedFault{
		{"looks at names before ids", namesFirst, "monitors/Update of an unknown id is not found, though its name is taken", "not found"},
		{"looks at names before versions", namesFirst, "monitors/Update of another version is a conflict, though its name is taken", "conflict"},
		{"looks at versions before owners", func(s storage.Store) storage.Store {
			return &broken{Store: s, updateMonitor: func(ctx context.Context, m monitor.Monitor) error {
				err := s.Monitors().Update(ctx, m)
				if errors.Is(err, monitor.ErrNotFound) && m.Version > 1 {
					return monitor.ErrConflict
				}
				return err
			}}
		}, "monitors/Update of another owner's id is not found, though its version is wrong", "not found"},
		{"looks at URLs before ids", urlsFirst, "endpoints/Update of an unknown id is not found, though its URL is taken", "not found"},
		{"looks at URLs before versions", urlsFirst, "endpoints/Update of another version is a conflict, though its URL is taken", "conflict"},
		{"looks at the id before the amount", func(s storage.Store) storage.Store {
			return &broken{Store: s, reserve: func(ctx context.Context, r billing.Reservation) error {
				again := r
				again.Amount = 0
				if r.Amount < 0 && r.ID != "" && errors.Is(s.Ledger().Reserve(ctx, again), billing.ErrResolved) {
					return billing.ErrResolved
				}
				return s.Ledger().Reserve(ctx, r)
			}}
		}, "ledger/Reserve of less than nothing is refused as such, whatever the id", "whatever the id"},
		{"takes an entry for a reservation that has ended", func(s storage.Store) storage.Store {
			return &broken{Store: s, release: func(ctx context.Context, id string) error {
				err := s.Ledger().Release(ctx, id)
				if errors.Is(err, billing.ErrNotFound) && id == "e" {
					return billing.ErrResolved
				}
				return err
			}}
		}, "ledger/Commit and Release of an entry's id find no reservation", "find no reservation"},
		{"gives all monitors when no size is given", func(s storage.Store) storage.Store {
			return &broken{Store: s, listMonitors: func(ctx context.Context, q monitor.Query) (monitor.Page, error) {
				if q.PageSize == 0 {
					q.PageSize = 100
				}
				return s.Monitors().List(ctx, q)
			}}
		}, "monitors/no page and no size mean the first 20", "PageSize 0"},
		{"counts the pages of rules from 0", func(s storage.Store) storage.Store {
			return pagedRules{s, func(q *rule.Query) { q.Page++ }}
		}, "rules/no page and no size mean the first 20", "0 has to mean page 1"},
		{"does not say which page of rules it is", func(s storage.Store) storage.Store {
			return pagedRules{s, func(q *rule.Query) { q.Page = max(q.Page, 1); q.PageSize = 20 }}
		}, "rules/a page says which page it is", "has to be the query's"},
	})
}
