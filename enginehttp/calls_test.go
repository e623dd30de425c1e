package enginehttp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

const ruleWithWebhook = `{"tag":"calls %d","query":"moon","interval_seconds":3600,"webhook_url":"https://hooks.example.com/calls"}`

// withAll sets up a service that uses all that a create can need: quotas, prices, and a fleet if
// the store has one.
func withAll(s *setup) {
	s.engine.Billing = &billing.MeterConfig{}
	s.engine.Quotas = streamwatch.Quotas{Monitors: 1000, Rules: 1_000_000, Endpoints: 1_000_000, Accounts: 1000}
	if s.store == nil || s.store.Ports().Members != nil {
		s.engine.Fleet = &streamwatch.FleetConfig{Name: "one"}
	}
}

// A rule with a webhook, made with an Idempotency-Key by a node of a fleet with quotas and prices,
// makes these calls: to find its key, begin, hold its price, read what the credits cover, store
// the rule with its endpoint, follow the feed, keep the answer, and charge.
func TestCallsOfACreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := new(noted)
		w := newWorld(t, withAll, func(s *setup) {
			s.faults = func(store storage.Store) storage.Store {
				calls.Store = store
				keys, err := apikey.NewManager(apikey.Config{Records: calls.Ports().Records})
				if err != nil {
					t.Fatal(err)
				}
				s.options.Auth = keys
				return calls
			}
		})
		if err := w.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		calls.take()
		a := w.once("k", "POST", rules, fmt.Sprintf(ruleWithWebhook, 0))
		got := calls.take()
		if a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		want := "Records.Find, State.Swap, Ledger.Reserve, Ledger.Balance, Records.Apply, Records.Since, State.Swap, Ledger.Commit"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%d calls: %s\nwant %s", len(got), s, want)
		}
		if err := w.engine.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// noted is a store that notes the calls of the ports that requests use.
type noted struct {
	storage.Store
	mu    sync.Mutex
	calls []string
}

func (n *noted) Ports() storage.Ports {
	p := n.Store.Ports()
	p.Records, p.State, p.Ledger = notedRecords{p.Records, n}, notedState{p.State, n}, notedLedger{p.Ledger, n}
	p.Members = notedMembers{p.Members, n}
	return p
}

func (n *noted) note(call string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call)
}

// take returns the calls since the last take.
func (n *noted) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.calls
	n.calls = nil
	return list
}

type notedRecords struct {
	record.Store
	to *noted
}

func (r notedRecords) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	r.to.note("Records.Get")
	return r.Store.Get(ctx, owner, k)
}

func (r notedRecords) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	r.to.note("Records.Find")
	return r.Store.Find(ctx, k, lookup)
}

func (r notedRecords) List(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	r.to.note("Records.List")
	return r.Store.List(ctx, q)
}

func (r notedRecords) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	r.to.note("Records.Scan")
	return r.Store.Scan(ctx, k, fn)
}

func (r notedRecords) Apply(ctx context.Context, c record.Change) (uint64, error) {
	r.to.note("Records.Apply")
	return r.Store.Apply(ctx, c)
}

func (r notedRecords) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	r.to.note("Records.Since")
	return r.Store.Since(ctx, after, limit)
}

type notedState struct {
	record.State
	to *noted
}

func (s notedState) Get(ctx context.Context, n record.Name) (record.Value, error) {
	s.to.note("State.Get")
	return s.State.Get(ctx, n)
}

func (s notedState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	s.to.note("State.Swap")
	return s.State.Swap(ctx, n, version, value, ttl)
}

type notedLedger struct {
	billing.Ledger
	to *noted
}

func (l notedLedger) Reserve(ctx context.Context, r billing.Reservation) error {
	l.to.note("Ledger.Reserve")
	return l.Ledger.Reserve(ctx, r)
}

func (l notedLedger) Commit(ctx context.Context, id string, e billing.Entry) error {
	l.to.note("Ledger.Commit")
	return l.Ledger.Commit(ctx, id, e)
}

func (l notedLedger) Release(ctx context.Context, id string) error {
	l.to.note("Ledger.Release")
	return l.Ledger.Release(ctx, id)
}

func (l notedLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	l.to.note("Ledger.Append")
	return l.Ledger.Append(ctx, entries...)
}

func (l notedLedger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	l.to.note("Ledger.Balance")
	return l.Ledger.Balance(ctx, owner)
}

func (l notedLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	l.to.note("Ledger.Entries")
	return l.Ledger.Entries(ctx, q)
}

func (l notedLedger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	l.to.note("Ledger.Totals")
	return l.Ledger.Totals(ctx, sources...)
}

type notedMembers struct {
	fleet.Members
	to *noted
}

func (m notedMembers) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	m.to.note("Members.Join")
	return m.Members.Join(ctx, n)
}

func (m notedMembers) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	m.to.note("Members.Beat")
	return m.Members.Beat(ctx, b)
}

func (m notedMembers) Leave(ctx context.Context, f fleet.Fence) error {
	m.to.note("Members.Leave")
	return m.Members.Leave(ctx, f)
}

func (m notedMembers) Look(ctx context.Context) (fleet.State, error) {
	m.to.note("Members.Look")
	return m.Members.Look(ctx)
}
