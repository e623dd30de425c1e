package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
)

func TestLedgerIsKept(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == kindRedis {
				needRedis(t, "redis-server")
			}
			r := playedLedger(t, options{kind: kind, kills: 2, seed: 3, ledger: 6000 / tempo})
			var out strings.Builder
			if err := r.write(&out); err != nil {
				t.Fatal(err)
			}
			if len(r.found) > 0 || !strings.HasSuffix(out.String(), "\n0 violations\n") {
				t.Errorf("%s", out.String())
			}
			of := make(map[string]float64)
			for _, f := range r.figures() {
				of[f.Metric] = f.Value
			}
			for metric, least := range map[string]float64{"operations": 6000 / tempo, "kills": 2, "starts": 3, "entries": 1000 / tempo,
				"refused for lack of credits": 300 / tempo, "reservations committed": 100 / tempo, "reservations released": 50 / tempo, "reservations open": 10} {
				if of[metric] < least {
					t.Errorf("%s: %.0f, want at least %.0f for the test to show anything", metric, of[metric], least)
				}
			}
			if of["appended"]-of["charged"] != of["available to ada"]+of["reserved by ada"]+of["available to bob"]+of["reserved by bob"] {
				t.Errorf("the figures do not add up:\n%s", out.String())
			}
		})
	}
}

func playedLedger(t *testing.T, o options) *ledgerRun {
	t.Helper()
	if testing.Short() {
		t.Skip("kills processes for some seconds")
	}
	o.dir = t.TempDir()
	r := newLedgerRun(o, t.Output())
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPlantedFaultsOfLedgersAreFound(t *testing.T) {
	for _, row := range []struct{ fault, text string }{
		{"acknowledges an entry without making it", "was confirmed and is not there"},
		{"gives back what it says is committed", "resolved both ways"},
		{"charges twice what is asked twice", "nobody asked for it"},
		{"forgets what it holds", "was confirmed and is not held"},
		{"answers before it has done it", "was confirmed and is not there"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			r := playedLedger(t, options{kind: kindSQLite, kills: 4, seed: 4, ledger: 4000, bug: row.fault})
			if !slices.ContainsFunc(r.found, func(v violation) bool { return strings.Contains(v.Text, row.text) }) {
				t.Errorf("found %.1000v, want one that says %q", r.found, row.text)
			}
		})
	}
}

// answered is what a process has said that it has done, and will do.
var answered struct {
	sync.Mutex
	entries []billing.Entry
}

func init() {
	for name, l := range map[string]faultyLedger{
		"gives back what it says is committed": {commit: func(l billing.Ledger, ctx context.Context, id string, _ billing.Entry) error {
			return l.Release(ctx, id)
		}},
		"charges twice what is asked twice": {append: func(l billing.Ledger, ctx context.Context, entries []billing.Entry) error {
			err := l.Append(ctx, entries...)
			if err == nil && len(entries) == 1 {
				entries[0].ID += "again"
				err = l.Append(ctx, entries...)
			}
			return err
		}},
		"answers before it has done it": {append: func(l billing.Ledger, ctx context.Context, entries []billing.Entry) error {
			if len(entries) > 1 {
				return l.Append(ctx, entries...)
			}
			// It is done some calls later: a kill always comes before some of them, and
			// not all of these are asked for again.
			answered.Lock()
			defer answered.Unlock()
			if answered.entries = append(answered.entries, entries[0]); len(answered.entries) > 32 {
				_ = l.Append(ctx, answered.entries[0])
				answered.entries = answered.entries[1:]
			}
			return nil
		}},
		"forgets what it holds": {reserve: func(l billing.Ledger, ctx context.Context, r billing.Reservation) error {
			err := l.Reserve(ctx, r)
			if err == nil {
				err = l.Release(ctx, r.ID)
			}
			return err
		}},
	} {
		bugs[name] = func(s storage.Store) storage.Store { l.Ledger = s.Ledger(); return withLedger{s, l} }
	}
}

type withLedger struct {
	storage.Store
	ledger billing.Ledger
}

func (s withLedger) Ledger() billing.Ledger { return s.ledger }

// faultyLedger does some things another way.
type faultyLedger struct {
	billing.Ledger
	reserve func(billing.Ledger, context.Context, billing.Reservation) error
	commit  func(billing.Ledger, context.Context, string, billing.Entry) error
	append  func(billing.Ledger, context.Context, []billing.Entry) error
}

func (l faultyLedger) Reserve(ctx context.Context, r billing.Reservation) error {
	if l.reserve == nil {
		return l.Ledger.Reserve(ctx, r)
	}
	return l.reserve(l.Ledger, ctx, r)
}

func (l faultyLedger) Commit(ctx context.Context, id string, e billing.Entry) error {
	if l.commit == nil {
		return l.Ledger.Commit(ctx, id, e)
	}
	return l.commit(l.Ledger, ctx, id, e)
}

func (l faultyLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	if l.append == nil {
		return l.Ledger.Append(ctx, entries...)
	}
	return l.append(l.Ledger, ctx, entries)
}
