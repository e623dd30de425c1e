package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

func TestServerEvictionPolicy(t *testing.T) {
	server := redistest.Single(t)
	for _, user := range []string{"may", "mayno"} {
		args := []any{"ACL", "SETUSER", user, "on", ">secret", "~*", "&*", "+@all"}
		if user == "mayno" {
			args = append(args, "-config")
		}
		server.Do(args...)
	}
	for _, c := range []struct {
		name, policy, user string
		allow              bool
		want               error
	}{
		{"noeviction", "noeviction", "may", false, nil},
		{"evicts anything", "allkeys-lru", "may", false, redisstore.ErrEviction},
		{"evicts what expires", "volatile-ttl", "may", false, redisstore.ErrEviction},
		{"evicts, and that is accepted", "allkeys-lru", "may", true, nil},
		{"CONFIG refused, noeviction", "noeviction", "mayno", false, nil},
		{"CONFIG refused, evicts", "allkeys-random", "mayno", false, redisstore.ErrEviction},
	} {
		t.Run(c.name, func(t *testing.T) {
			configure(t, server, "maxmemory-policy", c.policy)
			to := &redis.UniversalOptions{Addrs: []string{server.Addr()}, Username: c.user, Password: "secret"}
			began := time.Now()
			s, err := redisstore.Open(t.Context(), to, redisstore.Options{Name: freshName(), AllowEviction: c.allow})
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("Open took %v, although there is nothing to wait for", took)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("Open: %v, want %v", err, c.want)
			}
			if err == nil {
				need(t, s.Close(t.Context()))
			} else if !strings.Contains(err.Error(), "noeviction") {
				t.Errorf("%v: want how to correct it", err)
			}
		})
	}
}

// A server that is out of memory refuses all calls that write, which then record nothing.
// Calls that read still succeed.
func TestServerOutOfMemory(t *testing.T) {
	server := redistest.Single(t)
	name := freshName()
	s := openServer(t, server.Addr(), redisstore.Options{Name: name, RetryFor: time.Second})
	contents := func() string { return keysOf(t, &redis.UniversalOptions{Addrs: []string{server.Addr()}}, name) }
	payIn(t, s, "acme", 1_000_000)
	for i := range 20 {
		need(t, commitOne(t.Context(), s, "acme", fmt.Sprint("before", i)))
	}
	for _, id := range []string{"to be committed", "to be released"} {
		need(t, s.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: id, Owner: "acme", Amount: 5}))
	}
	claimed, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: time.Now(), Lease: time.Hour, Limit: 5})
	need(t, err)

	for _, c := range serverWrites(s, claimed) {
		t.Run(c.name, func(t *testing.T) {
			before := contents()
			configure(t, server, "maxmemory", "1")
			err := c.do(t.Context())
			after := contents()
			configure(t, server, "maxmemory", "0")
			switch {
			case err == nil:
				t.Error("it was not refused without memory")
			case errors.Is(err, redisstore.ErrUnknown) || !strings.Contains(err.Error(), "OOM"):
				t.Errorf("%v, want what the server says, which is no unknown outcome", err)
			}
			if after != before {
				t.Errorf("it was refused, and left\n%s\nwant\n%s", after, before)
			}
			if err := c.do(t.Context()); err != nil {
				t.Errorf("with memory again: %v", err)
			}
		})
	}
}

type serverWrite struct {
	name string
	do   func(context.Context) error
}

// serverWrites returns calls that write something if they are made in this order.
func serverWrites(s storage.Store, claimed []deliver.Delivery) []serverWrite {
	src := sourceNamed("acme", "of acme")
	key := record.Key{Kind: record.Monitor, ID: src.ID}
	return []serverWrite{
		{"Records.Apply", func(ctx context.Context) error {
			m := record.Record{Key: key, Owner: "acme", Name: "n", Data: []byte("{}")}
			e := record.Record{Key: record.Key{Kind: record.Endpoint, ID: "e"}, Owner: "acme", Parent: key, Status: "active", Data: []byte("{}")}
			_, err := s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{m, e}})
			return err
		}},
		{"Records.Apply that replaces", func(ctx context.Context) error {
			m := record.Record{Key: key, Owner: "acme", Name: "other", Version: 1, Data: []byte("{}")}
			_, err := s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{m}})
			return err
		}},
		{"State.Swap", func(ctx context.Context) error {
			_, err := s.Ports().State.Swap(ctx, record.Name{Space: "s", Owner: "acme"}, 0, []byte("x"), time.Hour)
			return err
		}},
		{"Journal.Commit", func(ctx context.Context) error {
			return s.Ports().Journal.Commit(ctx, []*detect.Batch{{
				Cursor: &detect.Cursor{Target: "src00", UserID: "1"}, DeliverBy: time.Now(),
				Events:  []deliver.Event{postOf(src, "new", "log")},
				Charges: []billing.Entry{{ID: "charge", Owner: "acme", Amount: -1}},
			}})
		}},
		{"Records.Apply that deletes", func(ctx context.Context) error {
			_, err := s.Ports().Records.Apply(ctx, record.Change{Delete: []record.Ref{{Key: key, Owner: "acme"}}})
			return err
		}},
		{"Outbox.Claim", func(ctx context.Context) error {
			ds, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: time.Now(), Lease: time.Hour, Limit: 3})
			if err == nil && len(ds) != 3 {
				err = fmt.Errorf("claimed %d, want 3", len(ds))
			}
			return err
		}},
		{"Outbox.Settle", func(ctx context.Context) error {
			return s.Ports().Outbox.Settle(ctx,
				deliver.Settlement{DeliveryID: claimed[0].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered},
				deliver.Settlement{DeliveryID: claimed[1].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateRetrying, Due: time.Now()})
		}},
		{"Ledger.Append", func(ctx context.Context) error {
			return s.Ports().Ledger.Append(ctx, billing.Entry{ID: "a", Owner: "acme", Amount: 1}, billing.Entry{ID: "b", Owner: "acme", Amount: -1})
		}},
		{"Ledger.Reserve", func(ctx context.Context) error {
			return s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 7})
		}},
		{"Ledger.Commit", func(ctx context.Context) error {
			return s.Ports().Ledger.Commit(ctx, "to be committed", billing.Entry{Kind: billing.KindRequest})
		}},
		{"Ledger.Release", func(ctx context.Context) error { return s.Ports().Ledger.Release(ctx, "to be released") }},
	}
}

// When memory runs out during commits, each of them is there whole or not at all.
func TestServerMemoryRunsOut(t *testing.T) {
	server := redistest.Single(t)
	s := openServer(t, server.Addr(), redisstore.Options{RetryFor: time.Second})
	const paid = 1_000_000
	payIn(t, s, "acme", paid)
	need(t, commitOne(t.Context(), s, "acme", "first"))
	var used int64
	if _, err := fmt.Sscan(server.Info("used_memory"), &used); err != nil {
		t.Fatal(err)
	}
	configure(t, server, "maxmemory", fmt.Sprint(used+512<<10))
	done, refused := map[string]bool{"first": true}, 0
	for i := 0; i < 20_000 && refused < 20; i++ {
		tweet := fmt.Sprint("filling", i)
		if err := commitOne(t.Context(), s, "acme", tweet); err != nil {
			refused++
			continue
		}
		done[tweet] = true
	}
	configure(t, server, "maxmemory", "0")
	if refused == 0 || len(done) < 10 {
		t.Errorf("%d commits were refused, %d not: the test shows nothing", refused, len(done))
	}
	committedOnce(t, s, "acme", paid, done)
	if evs := allEvents(t, s, "acme"); len(evs) != len(done) {
		t.Errorf("%d events, want the %d of commits that were not refused", len(evs), len(done))
	}
}
