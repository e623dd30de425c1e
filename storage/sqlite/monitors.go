package sqlite

import (
	"context"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// monitors implements monitor.Store.
type monitors struct{ records[monitor.Monitor] }

func (s *Store) monitorRecords() records[monitor.Monitor] {
	return records[monitor.Monitor]{
		s: s, table: "monitors", unique: "name",
		keys: func(m *monitor.Monitor) (owner, id, name, status string) {
			return m.Owner, m.ID, m.Name, string(m.Status)
		},
		version:    func(m *monitor.Monitor) *int64 { return &m.Version },
		ledgerKind: billing.KindMonitor,
		notFound:   monitor.ErrNotFound,
		duplicate:  monitor.ErrDuplicate,
		conflict:   monitor.ErrConflict,
	}
}

func (ms monitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	recs, total, err := ms.list(ctx, q.Owner, string(q.Status), q.Page, q.PageSize)
	if err != nil {
		return monitor.Page{}, err
	}
	return monitor.Page{Monitors: recs, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}

// rules implements rule.Store.
type rules struct{ records[rule.Rule] }

func (s *Store) ruleRecords() records[rule.Rule] {
	return records[rule.Rule]{
		s: s, table: "rules", unique: "tag",
		keys: func(r *rule.Rule) (owner, id, tag, status string) {
			return r.Owner, r.ID, r.Tag, string(r.Status)
		},
		version:    func(r *rule.Rule) *int64 { return &r.Version },
		ledgerKind: billing.KindRule,
		notFound:   rule.ErrNotFound,
		duplicate:  rule.ErrDuplicate,
		conflict:   rule.ErrConflict,
	}
}

func (rs rules) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	recs, total, err := rs.list(ctx, q.Owner, string(q.Status), q.Page, q.PageSize)
	if err != nil {
		return rule.Page{}, err
	}
	return rule.Page{Rules: recs, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}
