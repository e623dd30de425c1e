package sqlite_test

import (
	"context"
	"testing"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func TestMonitors(t *testing.T) {
	t.Parallel()
	records[monitor.Monitor]{
		open: openRole(func(s *sqlite.Store) versionedStore[monitor.Monitor] { return s.Monitors() }),
		make: func(owner, id, name, status string) monitor.Monitor {
			return monitor.Monitor{ID: id, Owner: owner, Name: name, Status: monitor.Status(status), Version: 1}
		},
		id:      func(m monitor.Monitor) string { return m.ID },
		version: func(m *monitor.Monitor) *int64 { return &m.Version },
		rename:  func(m *monitor.Monitor, name string) { m.Name = name },
		list: func(ctx context.Context, s versionedStore[monitor.Monitor], owner, status string, page, size int) ([]monitor.Monitor, int, error) {
			p, err := s.(monitor.Store).List(ctx, monitor.Query{Owner: owner, Status: monitor.Status(status), Page: page, PageSize: size})
			return p.Monitors, p.Total, err
		},
		notFound: monitor.ErrNotFound, duplicate: monitor.ErrDuplicate, conflict: monitor.ErrConflict,
	}.run(t)
}

func TestMonitorPageSaysWhichPageItIs(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	p, err := s.Monitors().List(t.Context(), monitor.Query{Owner: "acme", Page: 3, PageSize: 7})
	must(t, err)
	want(t, "page", p.Page, 3)
	want(t, "page size", p.PageSize, 7)
}

func TestMonitorsShareNoMemoryWithTheStore(t *testing.T) {
	ctx := t.Context()
	fresh := func(version int64) monitor.Monitor {
		return monitor.Monitor{
			ID: "m", Owner: "acme", Name: "n", Version: version,
			Accounts: []monitor.Account{{Username: "nasa"}}, FilterTypes: []monitor.FilterType{monitor.Reply},
		}
	}
	spoil := func(m monitor.Monitor) {
		m.Accounts[0].Username = "spoilt"
		m.FilterTypes[0] = "spoilt"
	}
	for _, row := range []struct {
		name string
		do   func(t *testing.T, ms monitor.Store)
	}{
		{"what Create was given", func(t *testing.T, ms monitor.Store) {
			m := fresh(0)
			m.ID, m.Name = "other", "other"
			must(t, ms.Create(ctx, m))
			spoil(m)
			got, err := ms.Get(ctx, "acme", "other")
			must(t, err)
			want(t, "username", got.Accounts[0].Username, "nasa")
		}},
		{"what Update was given", func(t *testing.T, ms monitor.Store) {
			m := fresh(1)
			must(t, ms.Update(ctx, m))
			spoil(m)
		}},
		{"what Get gave", func(t *testing.T, ms monitor.Store) {
			m, err := ms.Get(ctx, "acme", "m")
			must(t, err)
			spoil(m)
		}},
		{"what List gave", func(t *testing.T, ms monitor.Store) {
			p, err := ms.List(ctx, monitor.Query{Owner: "acme", Page: 1, PageSize: 1})
			must(t, err)
			spoil(p.Monitors[0])
		}},
		{"what Scan gave", func(t *testing.T, ms monitor.Store) {
			must(t, ms.Scan(ctx, func(m monitor.Monitor) error { spoil(m); return nil }))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := open(t, sqlite.Options{})
			must(t, s.Monitors().Create(ctx, fresh(1)))
			row.do(t, s.Monitors())
			m, err := s.Monitors().Get(ctx, "acme", "m")
			must(t, err)
			want(t, "username", m.Accounts[0].Username, "nasa")
			want(t, "filter type", m.FilterTypes[0], monitor.Reply)
		})
	}
}
func TestRules(t *testing.T) {
	t.Parallel()
	records[rule.Rule]{
		open: openRole(func(s *sqlite.Store) versionedStore[rule.Rule] { return s.Rules() }),
		make: func(owner, id, tag, status string) rule.Rule {
			return rule.Rule{ID: id, Owner: owner, Tag: tag, Status: rule.Status(status), Version: 1}
		},
		id:      func(r rule.Rule) string { return r.ID },
		version: func(r *rule.Rule) *int64 { return &r.Version },
		rename:  func(r *rule.Rule, tag string) { r.Tag = tag },
		list: func(ctx context.Context, s versionedStore[rule.Rule], owner, status string, page, size int) ([]rule.Rule, int, error) {
			p, err := s.(rule.Store).List(ctx, rule.Query{Owner: owner, Status: rule.Status(status), Page: page, PageSize: size})
			return p.Rules, p.Total, err
		},
		notFound: rule.ErrNotFound, duplicate: rule.ErrDuplicate, conflict: rule.ErrConflict,
	}.run(t)
}

func TestMonitorsAndRulesAreApart(t *testing.T) {
	s := furnished(t) // a monitor and a rule with the same id, owner and name
	must(t, s.Rules().Delete(t.Context(), "acme", "kept"))
	_, err := s.Monitors().Get(t.Context(), "acme", "kept")
	must(t, err)
}
