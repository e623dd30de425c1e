package redisstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// traffic makes calls of the methods that write, and of a few that read. It uses few ids,
// so that they repeat, are missing, changed and deleted. The same random numbers make the
// same call on every store.
type traffic struct {
	clock   *storetest.Clock
	peek    storage.Store      // to look up versions: no call under test
	claimed []deliver.Delivery // what was claimed so far
}

// trafficCall is a call of a method with random arguments; got is what it returned.
type trafficCall struct {
	name   string
	weight int // how often, against the others
	writes bool
	do     func(ctx context.Context, s storage.Store, r *rand.Rand) (got any, err error)
}

// One owner has characters with a meaning in keys.
var trafficOwners = []string{"acme", "globex\x00:{x}"}

func ownerOf(r *rand.Rand) string { return trafficOwners[r.IntN(len(trafficOwners))] }

func (tr *traffic) sourceOf(r *rand.Rand) deliver.Source {
	owner := r.IntN(len(trafficOwners))
	return sourceNamed(trafficOwners[owner], fmt.Sprint("src", owner, r.IntN(2)))
}

func (tr *traffic) calls() []trafficCall {
	nothing := func(err error) (any, error) { return nil, err }
	return []trafficCall{
		{"Monitors.Create", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return nothing(roles.Monitors(s.Ports().Records).Create(ctx, tr.monitor(r)))
		}},
		{"Monitors.Update", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			m := tr.monitor(r)
			if was, err := roles.Monitors(tr.peek.Ports().Records).Get(ctx, m.Owner, m.ID); err == nil && r.IntN(4) > 0 {
				m.Version = was.Version
			}
			return nothing(roles.Monitors(s.Ports().Records).Update(ctx, m))
		}},
		{"Monitors.Delete", 2, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			m := tr.monitor(r)
			return nothing(roles.Monitors(s.Ports().Records).Delete(ctx, m.Owner, m.ID))
		}},
		{"Monitors.List", 1, false, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return roles.Monitors(s.Ports().Records).List(ctx, monitor.Query{Owner: ownerOf(r), Page: 1, PageSize: 5})
		}},
		{"Rules.Create", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return nothing(roles.Rules(s.Ports().Records).Create(ctx, tr.rule(r)))
		}},
		{"Rules.Update", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			rec := tr.rule(r)
			if was, err := roles.Rules(tr.peek.Ports().Records).Get(ctx, rec.Owner, rec.ID); err == nil && r.IntN(4) > 0 {
				rec.Version = was.Version
			}
			return nothing(roles.Rules(s.Ports().Records).Update(ctx, rec))
		}},
		{"Rules.Delete", 2, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			rec := tr.rule(r)
			return nothing(roles.Rules(s.Ports().Records).Delete(ctx, rec.Owner, rec.ID))
		}},
		{"Endpoints.Create", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return nothing(roles.Endpoints(s.Ports().Records).Create(ctx, tr.endpoint(r)))
		}},
		{"Endpoints.Update", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			e := tr.endpoint(r)
			if was, err := roles.Endpoints(tr.peek.Ports().Records).Get(ctx, e.Source.Owner, e.ID); err == nil && r.IntN(4) > 0 {
				e.Version = was.Version
			}
			if r.IntN(3) == 0 {
				e.Status = deliver.EndpointDisabled
			}
			return nothing(roles.Endpoints(s.Ports().Records).Update(ctx, e))
		}},
		{"Endpoints.Delete", 2, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			e := tr.endpoint(r)
			return nothing(roles.Endpoints(s.Ports().Records).Delete(ctx, e.Source.Owner, e.ID))
		}},
		{"Journal.Commit", 10, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			batches := tr.batches(r)
			return batches, s.Ports().Journal.Commit(ctx, batches)
		}},
		{"Outbox.Claim", 8, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			q := deliver.ClaimRequest{Now: tr.clock.Now(), Lease: time.Minute, Limit: 1 + r.IntN(20)}
			if r.IntN(3) == 0 {
				q.Skip = []string{fmt.Sprint("ep", r.IntN(8)), deliver.HandlerEndpoint("log")}
			}
			return s.Ports().Outbox.Claim(ctx, q)
		}},
		{"Outbox.Settle", 8, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return nothing(s.Ports().Outbox.Settle(ctx, tr.settlements(r)...))
		}},
		{"Outbox.NextDue", 1, false, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			due, open, err := s.Ports().Outbox.NextDue(ctx, nil)
			return []any{due, open}, err
		}},
		{"Ledger.Append", 4, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return nothing(s.Ports().Ledger.Append(ctx, tr.entries(r, 1+r.IntN(3))...))
		}},
		{"Ledger.Reserve", 5, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			owner, id := reservationOf(r)
			return nothing(s.Ports().Ledger.Reserve(ctx, billing.Reservation{
				ID: id, Owner: owner, Amount: billing.Credits(r.IntN(50)), ExpiresAt: tr.clock.Now().Add(time.Duration(r.IntN(600)) * time.Second),
			}))
		}},
		{"Ledger.Commit", 4, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			_, id := reservationOf(r)
			return nothing(s.Ports().Ledger.Commit(ctx, id, billing.Entry{Kind: billing.KindRequest, At: tr.clock.Now()}))
		}},
		{"Ledger.Release", 3, true, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			_, id := reservationOf(r)
			return nothing(s.Ports().Ledger.Release(ctx, id))
		}},
		{"Ledger.Balance", 1, false, func(ctx context.Context, s storage.Store, r *rand.Rand) (any, error) {
			return s.Ports().Ledger.Balance(ctx, ownerOf(r))
		}},
	}
}

func (tr *traffic) monitor(r *rand.Rand) monitor.Monitor {
	owner, n := r.IntN(len(trafficOwners)), r.IntN(6)
	return monitor.Monitor{
		ID: fmt.Sprint("m", owner, n), Owner: trafficOwners[owner], Name: fmt.Sprint("name", r.IntN(8)),
		Accounts: []monitor.Account{{Username: fmt.Sprint("user", r.IntN(100)), Since: tr.clock.Now()}},
		Status:   monitor.Active, UpdatedAt: tr.clock.Now(), Version: int64(r.IntN(2)),
	}
}

func (tr *traffic) rule(r *rand.Rand) rule.Rule {
	owner, n := r.IntN(len(trafficOwners)), r.IntN(6)
	return rule.Rule{
		ID: fmt.Sprint("r", owner, n), Owner: trafficOwners[owner], Tag: fmt.Sprint("tag", r.IntN(8)),
		Query: fmt.Sprint("from:user", r.IntN(100)), Status: rule.Active, UpdatedAt: tr.clock.Now(), Version: int64(r.IntN(2)),
	}
}

func (tr *traffic) endpoint(r *rand.Rand) deliver.Endpoint {
	src := tr.sourceOf(r)
	return deliver.Endpoint{
		ID: fmt.Sprint("ep", src.ID, r.IntN(3)), Source: src, URL: fmt.Sprint("https://example.com/", r.IntN(4)),
		Secret: deliver.Secret(fmt.Sprint("whsec_", r.IntN(100))), Status: deliver.EndpointActive,
		CreatedAt: tr.clock.Now(), UpdatedAt: tr.clock.Now(),
	}
}

// batches returns the batches of one to three polls, with some posts found before.
func (tr *traffic) batches(r *rand.Rand) []*detect.Batch {
	batches := make([]*detect.Batch, 1+r.IntN(3))
	for i := range batches {
		src := tr.sourceOf(r)
		b := &detect.Batch{DeliverBy: tr.clock.Now().Add(time.Duration(r.IntN(30)) * time.Second)}
		if r.IntN(2) == 0 {
			b.Cursor = &detect.Cursor{Target: src.ID, Since: tr.clock.Now()}
		}
		for range r.IntN(4) {
			ev := postOf(src, fmt.Sprint(r.IntN(2000)))
			if r.IntN(2) == 0 {
				ev.Handlers = []string{"log", "count"}[:1+r.IntN(2)]
			}
			b.Events = append(b.Events, ev)
		}
		b.Charges = tr.entries(r, r.IntN(2))
		batches[i] = b
	}
	return batches
}

func (tr *traffic) entries(r *rand.Rand, n int) []billing.Entry {
	entries := make([]billing.Entry, n)
	for i := range entries {
		entries[i] = billing.Entry{
			ID: fmt.Sprint("e", r.IntN(2000)), Owner: ownerOf(r), Kind: billing.KindMonitor,
			Amount: billing.Credits(r.IntN(100) - 45), At: tr.clock.Now(),
		}
	}
	return entries
}

func reservationOf(r *rand.Rand) (owner, id string) {
	o := r.IntN(len(trafficOwners))
	return trafficOwners[o], fmt.Sprint("reservation", o, r.IntN(30))
}

// settlements returns settlements of deliveries claimed lately.
func (tr *traffic) settlements(r *rand.Rand) []deliver.Settlement {
	var ss []deliver.Settlement
	for range min(len(tr.claimed), 1+r.IntN(8)) {
		d := tr.claimed[len(tr.claimed)-1-r.IntN(min(len(tr.claimed), 40))]
		st := deliver.Settlement{
			DeliveryID: d.ID, Due: tr.clock.Now().Add(time.Duration(r.IntN(90)) * time.Second),
			State: []deliver.State{deliver.StateRetrying, deliver.StateDelivered, deliver.StateFailed}[r.IntN(3)],
		}
		if r.IntN(5) > 0 {
			st.Attempt = &deliver.Attempt{N: d.Attempts + 1, At: tr.clock.Now(), Duration: time.Second, StatusCode: 200 + r.IntN(300)}
		}
		ss = append(ss, st)
	}
	return ss
}

// contents returns everything that a store shows, by kind.
func contents(t testing.TB, s storage.Store) map[string]any {
	t.Helper()
	all := map[string]any{}
	var monitors []monitor.Monitor
	need(t, roles.Monitors(s.Ports().Records).Scan(t.Context(), func(m monitor.Monitor) error { monitors = append(monitors, m); return nil }))
	var rules []rule.Rule
	need(t, roles.Rules(s.Ports().Records).Scan(t.Context(), func(r rule.Rule) error { rules = append(rules, r); return nil }))
	var targets []string
	for owner := range trafficOwners {
		targets = append(targets, fmt.Sprint("src", owner, 0), fmt.Sprint("src", owner, 1))
	}
	cursors, err := s.Ports().Journal.Cursors(t.Context(), targets...)
	need(t, err)
	due, open, err := s.Ports().Outbox.NextDue(t.Context(), nil)
	need(t, err)
	all["monitors"], all["rules"], all["cursors"], all["next due"] = monitors, rules, cursors, []any{due, open}
	for i, owner := range trafficOwners {
		endpoints, err := roles.Endpoints(s.Ports().Records).List(t.Context(), owner, "")
		need(t, err)
		for what, list := range map[string]any{
			"endpoints": endpoints, "events": allEvents(t, s, owner), "deliveries": allDeliveries(t, s, owner),
			"entries": allEntries(t, s, owner), "balance": balanceIn(t, s, owner),
		} {
			all[fmt.Sprintf("%s of owner %d", what, i)] = list
		}
	}
	return all
}
