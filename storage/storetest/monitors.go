package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
)

func monitorCases() []storeCase {
	role := recordRole[monitor.Monitor]{
		noun: "monitor", name: "name",
		role: func(s storage.Store) versioned[monitor.Monitor] { return s.Monitors() },
		make: func(owner, id, name, status string) monitor.Monitor {
			return monitor.Monitor{ID: id, Owner: owner, Name: name, Status: monitor.Status(status), Version: 1}
		},
		full:    fullMonitor,
		rename:  func(m *monitor.Monitor, name string) { m.Name = name },
		id:      func(m *monitor.Monitor) string { return m.ID },
		version: func(m *monitor.Monitor) *int64 { return &m.Version },
		change: func(t *storeTest, m *monitor.Monitor) {
			m.Name, m.Status, m.StatusReason = "changed", monitor.Paused, monitor.ReasonUser
			m.Accounts = []monitor.Account{{Username: "CNSA", Since: t.at(50)}}
			m.FilterTypes = nil
			m.PollInterval, m.Weight = 0, 0.5
			m.WebhookURL, m.WebhookSecretSet = "", false
			m.UpdatedAt, m.ResumedAt = t.at(60), t.at(61)
		},
		list: func(ctx context.Context, s storage.Store, owner, status string, page, size int) (listed[monitor.Monitor], error) {
			p, err := s.Monitors().List(ctx, monitor.Query{Owner: owner, Status: monitor.Status(status), Page: page, PageSize: size})
			return listed[monitor.Monitor]{p.Monitors, p.Total, p.Page, p.PageSize}, err
		},
		notFound: monitor.ErrNotFound, duplicate: monitor.ErrDuplicate, conflict: monitor.ErrConflict,
	}
	cases := append(role.cases(), monitorMemoryCases()...)
	return append(cases,
		storeCase{name: "a monitor keeps ten thousand accounts in their order", run: func(t *storeTest) {
			m := fullMonitor(t)
			for i := range 10_000 {
				m.Accounts = append(m.Accounts, monitor.Account{Username: fmt.Sprint("account_", i), Since: t.at(i)})
			}
			t.ok(t.store.Monitors().Create(t.Context(), m), "Monitors.Create")
			got, err := t.store.Monitors().Get(t.Context(), m.Owner, m.ID)
			t.ok(err, "Monitors.Get")
			t.same(got, m, "Get gave other accounts than Create was given")
		}},
	)
}

// fullMonitor returns a monitor with a value in every field.
func fullMonitor(t *storeTest) monitor.Monitor {
	return monitor.Monitor{
		ID: "full", Owner: "acme", Name: "Space agencies",
		Accounts:     []monitor.Account{{Username: "NASA", Since: t.at(1)}, {Username: "esa", Since: t.at(2)}, {Username: "zero"}},
		FilterTypes:  []monitor.FilterType{monitor.Reply, monitor.Original},
		PollInterval: 1500 * time.Millisecond, Weight: 2.25,
		WebhookURL: "https://example.com/hook?a=b", WebhookSecretSet: true,
		Status: monitor.Active, StatusReason: monitor.ReasonUpstream + "timeout",
		CreatedAt: t.start.Add(time.Microsecond), UpdatedAt: t.at(3), ResumedAt: t.at(4), Version: 41,
	}
}

// monitorMemoryCases test that a store shares no memory with the records that it gets or returns.
func monitorMemoryCases() []storeCase {
	spoil := func(m monitor.Monitor) {
		m.Accounts[0].Username = "spoilt"
		m.FilterTypes[0] = "spoilt"
	}
	var cases []storeCase
	for _, row := range []struct {
		name string
		do   func(t *storeTest, ms monitor.Store, given monitor.Monitor)
	}{
		{"what Create was given", func(t *storeTest, _ monitor.Store, given monitor.Monitor) { spoil(given) }},
		{"what Update was given", func(t *storeTest, ms monitor.Store, given monitor.Monitor) {
			m := fullMonitor(t)
			t.ok(ms.Update(t.Context(), m), "Monitors.Update")
			spoil(m)
		}},
		{"what Get gave", func(t *storeTest, ms monitor.Store, given monitor.Monitor) {
			m, err := ms.Get(t.Context(), given.Owner, given.ID)
			t.ok(err, "Monitors.Get")
			spoil(m)
		}},
		{"what List gave", func(t *storeTest, ms monitor.Store, given monitor.Monitor) {
			p, err := ms.List(t.Context(), monitor.Query{Owner: given.Owner, Page: 1, PageSize: 1})
			t.ok(err, "Monitors.List")
			if len(p.Monitors) != 1 {
				t.Fatalf("List gave %d monitors, want the one there is", len(p.Monitors))
			}
			spoil(p.Monitors[0])
		}},
		{"what Scan gave", func(t *storeTest, ms monitor.Store, given monitor.Monitor) {
			t.ok(ms.Scan(t.Context(), func(m monitor.Monitor) error { spoil(m); return nil }), "Monitors.Scan")
		}},
	} {
		cases = append(cases, storeCase{name: row.name + " shares no memory with the store", run: func(t *storeTest) {
			ms, given := t.store.Monitors(), fullMonitor(t)
			t.ok(ms.Create(t.Context(), given), "Monitors.Create")
			row.do(t, ms, given)
			m, err := ms.Get(t.Context(), given.Owner, given.ID)
			t.ok(err, "Monitors.Get")
			t.same(m.Accounts, fullMonitor(t).Accounts, "the stored accounts changed with %s: copy records on their way in and out", row.name)
			t.same(m.FilterTypes, fullMonitor(t).FilterTypes, "the stored filter types changed with %s: copy records on their way in and out", row.name)
		}})
	}
	return cases
}
