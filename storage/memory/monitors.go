package memory

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
)

// monitors implements monitor.Store.
type monitors struct{ records[monitor.Monitor] }

func monitorKeys(m *monitor.Monitor) (owner, id, name string) { return m.Owner, m.ID, m.Name }

func (s *Store) monitorRecords() records[monitor.Monitor] {
	return records[monitor.Monitor]{
		s: s, t: s.monitors,
		clone: func(m monitor.Monitor) monitor.Monitor {
			m.Accounts = slices.Clone(m.Accounts)
			m.FilterTypes = slices.Clone(m.FilterTypes)
			return m
		},
		version:    func(m *monitor.Monitor) *int64 { return &m.Version },
		ledgerKind: billing.KindMonitor,
		feedKind:   fleet.Monitor,
		notFound:   monitor.ErrNotFound,
		duplicate:  monitor.ErrDuplicate,
		conflict:   monitor.ErrConflict,
	}
}

func (ms monitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	match := func(m *monitor.Monitor) bool { return q.Status == "" || m.Status == q.Status }
	recs, total, err := ms.list(ctx, q.Owner, match, q.Page, q.PageSize)
	if err != nil {
		return monitor.Page{}, err
	}
	return monitor.Page{Monitors: recs, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}
