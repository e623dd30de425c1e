package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// questions returns calls that only read.
func questions(s *redisstore.Store) []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Ports().Records.Get(ctx, "acme", src); return err },
		func(ctx context.Context) error { _, err := s.Ports().Records.Find(ctx, src.Kind, "l"); return err },
		func(ctx context.Context) error {
			_, _, err := s.Ports().Records.List(ctx, record.Query{Owner: "acme", Kind: src.Kind, Limit: 9})
			return err
		},
		func(ctx context.Context) error {
			return s.Ports().Records.Scan(ctx, src.Kind, func(record.Record) error { return nil })
		},
		func(ctx context.Context) error { _, _, err := s.Ports().Records.Since(ctx, 0, 10); return err },
		func(ctx context.Context) error { _, err := s.Ports().Journal.Cursors(ctx, "t"); return err },
		func(ctx context.Context) error { _, _, err := s.Ports().Outbox.NextDue(ctx, nil); return err },
		func(ctx context.Context) error {
			_, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme"})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: "acme", State: deliver.StatePending})
			return err
		},
		func(ctx context.Context) error { _, err := s.Ports().Log.Events(ctx, "acme", 0, 10); return err },
		func(ctx context.Context) error { _, err := s.Ports().Ledger.Balance(ctx, "acme"); return err },
		func(ctx context.Context) error {
			_, err := s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme"})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme", SourceID: "x"})
			return err
		},
		func(ctx context.Context) error { _, err := s.Ports().Members.Look(ctx); return err },
	}
}

// The commands of the scripts use only keys that the scripts have declared.
func TestCommandsOfScriptsUseDeclaredKeys(t *testing.T) {
	s, server, clock := open(t, redisstore.Options{MaxEvents: 1, Retention: time.Hour, MaxEventIDs: 1, MaxEntries: 1})
	furnish(t, s)
	var mu sync.Mutex
	var declared []string
	seen := map[string]bool{}
	server.Server().SetPreHook(func(_ *mini.Peer, cmd string, args ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(cmd, "EVAL") {
			n, _ := strconv.Atoi(args[1])
			declared = args[2 : 2+n]
			return false
		}
		seen[cmd] = true
		if !slices.Contains(declared, args[0]) {
			t.Errorf("%s %q is none of the declared keys %q", cmd, args[0], declared)
		}
		return false
	})
	for _, call := range writingCalls(s) {
		_, err := call.do(t.Context())
		must(t, err)
		if call.name == "Records.Apply" {
			for _, ask := range questions(s) {
				must(t, ask(t.Context()))
			}
		}
	}
	for i := range 3 { // with something to remove
		clock.Advance(2 * time.Hour)
		settle(t, s, commit(t, s, newEvent(acme, fmt.Sprint("more ", i), "a", "b")).Deliveries...)
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint("more ", i), Owner: "acme", Amount: 1}))
	}
	for _, cmd := range []string{"LTRIM", "ZREM", "HDEL", "ZRANGEBYLEX"} {
		if !seen[cmd] {
			t.Errorf("no script called %s: this test does not make all calls", cmd)
		}
	}
}

func TestNamesShareNothing(t *testing.T) {
	one, server, _ := open(t, redisstore.Options{Name: "one"})
	two, _ := openOn(t, server, redisstore.Options{Name: "two"})
	commit(t, one, newEvent(acme, "1"))
	commit(t, two, newEvent(acme, "2"))
	want(t, "events of the first", logged(t, one, "acme", 0), "1:1")
	want(t, "events of the second", logged(t, two, "acme", 0), "1:2")
	for _, key := range server.Keys() {
		if !strings.HasPrefix(key, "{one}:") && !strings.HasPrefix(key, "{two}:") {
			t.Errorf("key %s does not begin with the name in braces", key)
		}
	}
}

// The answers of a store that is gone expire. A store that made no calls for that long can go
// on.
func TestAnswersExpire(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{})
	answers := func() (found int) {
		for _, key := range server.Keys() {
			if strings.HasPrefix(key, "{streamwatch}:answers:") {
				found++
			}
		}
		return found
	}
	commit(t, s, newEvent(acme, "1"))
	server.FastForward(23 * time.Hour)
	commit(t, s, newEvent(acme, "2"))
	server.FastForward(23 * time.Hour)
	want(t, "stores whose calls may be tried again", answers(), 1)
	server.FastForward(time.Hour)
	want(t, "stores whose answers are kept a day later", answers(), 0)
	want(t, "number of the next", commit(t, s, newEvent(acme, "3")).Events[0].Seq, 3)
}

// Of a removed event only its id is left, and that only for a while.
func TestNothingIsLeftBehind(t *testing.T) {
	s, server, clock := open(t, redisstore.Options{Retention: time.Hour, IDRetention: 2 * time.Hour, EntryRetention: time.Hour})
	bind(t, s, acme, "e")
	var ds []deliver.Delivery
	for i := range 20 {
		ds = append(ds, commit(t, s, newEvent(acme, fmt.Sprint(i), "a", "b"), newEvent(source("globex", "x"), fmt.Sprint(i))).Deliveries...)
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Amount: 1}))
	}
	must(t, s.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 1, ExpiresAt: start.Add(time.Minute)}))
	settle(t, s, ds...)
	must(t, roles.Endpoints(s.Ports().Records).Delete(t.Context(), "acme", "e"))
	for range 4 {
		clock.Advance(2 * time.Hour)
		must(t, s.Ports().Outbox.Settle(t.Context()))
		must(t, s.Ports().Ledger.Append(t.Context()))
	}
	kept := map[string]bool{"version": true, "feed": true, "count": true, "journal": true, "firsts": true, "balances": true}
	for _, key := range server.Keys() {
		name := strings.TrimPrefix(key, "{streamwatch}:")
		if !kept[name] && !strings.HasPrefix(name, "answers:") {
			t.Errorf("%s is there still, with %s", name, server.Dump())
			break
		}
	}
	fields, err := server.HKeys("{streamwatch}:journal")
	must(t, err)
	for _, f := range fields {
		if f[0] != 's' {
			t.Errorf("journal has %q still, want the owners' numbers alone", f)
		}
	}
	want(t, "numbers go on", commit(t, s, newEvent(acme, "later")).Events[0].Seq, 21)
}
