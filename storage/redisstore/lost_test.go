package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// src is the monitor of source("acme", "src").
var src = record.Key{Kind: record.Monitor, ID: "src"}

// writingCalls returns calls of the methods that write, each of which returns what it was
// answered, and would change the outcome if it took effect twice.
func writingCalls(s *redisstore.Store) []struct {
	name string
	do   func(context.Context) (any, error)
} {
	one := source("acme", "src")
	kept := deliver.DeliveryID(deliver.EventID("src", "0"), "kept")
	var fence fleet.Fence
	return []struct {
		name string
		do   func(context.Context) (any, error)
	}{
		{"Records.Apply", func(ctx context.Context) (any, error) {
			m := record.Record{Key: src, Owner: "acme", Name: "n", Lookup: "l"}
			e := record.Record{Key: record.Key{Kind: record.Endpoint, ID: "new"}, Owner: "acme", Parent: src, Status: "active"}
			return s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{m, e}, Gone: &record.Gone{Owner: "globex", Until: start.Add(time.Hour)}})
		}},
		{"Records.Apply that replaces", func(ctx context.Context) (any, error) {
			m := record.Record{Key: src, Owner: "acme", Name: "changed", Version: 1}
			return s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{m}, Notes: []record.Note{{Ref: record.Ref{Key: src, Owner: "acme"}, Text: "noted"}}})
		}},
		{"Journal.Commit", func(ctx context.Context) (any, error) {
			b := &detect.Batch{
				Events: []deliver.Event{newEvent(one, "1", "log"), newEvent(one, "0")}, DeliverBy: start, Cursor: &detect.Cursor{Target: "t"},
				Charges: []billing.Entry{{ID: "charge", Owner: "acme", Amount: -1}, {ID: "too much", Owner: "acme", Amount: -99}},
			}
			err := s.Ports().Journal.Commit(ctx, []*detect.Batch{b})
			return fmt.Sprint(b.Events[0].Seq, b.Events[1].Seq, endpointsOf(b.Deliveries), b.Unpaid), err
		}},
		{"Outbox.Claim", func(ctx context.Context) (any, error) {
			ds, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: start, Lease: time.Hour, Limit: 2})
			return endpointsOf(ds), err
		}},
		{"Outbox.Settle", func(ctx context.Context) (any, error) {
			return nil, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: kept, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateRetrying, Due: start.Add(time.Second)})
		}},
		{"Ledger.Append", func(ctx context.Context) (any, error) {
			return nil, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "e", Owner: "acme", Amount: 3})
		}},
		{"Ledger.Reserve", func(ctx context.Context) (any, error) {
			return nil, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 2})
		}},
		{"Ledger.Commit", func(ctx context.Context) (any, error) { return nil, s.Ports().Ledger.Commit(ctx, "r", billing.Entry{}) }},
		{"Ledger.Release", func(ctx context.Context) (any, error) { return nil, s.Ports().Ledger.Release(ctx, "kept") }},
		{"Records.Apply that deletes", func(ctx context.Context) (any, error) {
			return s.Ports().Records.Apply(ctx, record.Change{Delete: []record.Ref{{Key: src, Owner: "acme"}}})
		}},
		{"State.Swap", func(ctx context.Context) (any, error) {
			return s.Ports().State.Swap(ctx, record.Name{Space: "s", Owner: "acme"}, 0, []byte("x"), time.Hour)
		}},
		{"Members.Join", func(ctx context.Context) (any, error) {
			st, err := s.Ports().Members.Join(ctx, fleet.Node{Name: "a", Lease: time.Minute})
			fence = st.Fence
			return fmt.Sprint(st.Fence.Generation, st.Beats), err
		}},
		{"Members.Beat", func(ctx context.Context) (any, error) {
			st, err := s.Ports().Members.Beat(ctx, fleet.Beat{Fence: fence, Want: 3, Asks: []fleet.Ask{{Budget: "b", Total: 3, Rate: 2}}})
			fence = st.Fence
			return fmt.Sprint(st.Fence.Generation, st.Beats, st.Own, st.Grants), err
		}},
		{"Journal.Commit with a fence", func(ctx context.Context) (any, error) {
			b := &detect.Batch{Fence: fence, Events: []deliver.Event{newEvent(one, "2", "log")}, DeliverBy: start}
			err := s.Ports().Journal.Commit(ctx, []*detect.Batch{b})
			return fmt.Sprint(b.Events[0].Seq, endpointsOf(b.Deliveries)), err
		}},
		{"Members.Leave", func(ctx context.Context) (any, error) { return nil, s.Ports().Members.Leave(ctx, fence) }},
	}
}

func furnish(t testing.TB, s *redisstore.Store) {
	t.Helper()
	bind(t, s, source("acme", "src"), "kept")
	commit(t, s, newEvent(source("acme", "src"), "0"))
	must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}))
	must(t, s.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "kept", Owner: "acme", Amount: 4}))
}

// ofStores matches what is different for each store: its answers, and terms of fleets.
var ofStores = regexp.MustCompile(`(?m)^- \{\w+\}:answers:.*\n(?:   .*\n)*|^   t?[A-Z2-7]{26}: .*\n`)

// dump returns all data of a server except what ofStores matches.
func dump(server interface{ Dump() string }) string {
	return ofStores.ReplaceAllString(server.Dump(), "")
}

func TestACallWhoseReplyIsLostTakesEffectOnce(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault linkFault
	}{{"lost", loseReply}, {"of another call", mixReply}} {
		s, l, server := openLinked(t, redisstore.Options{})
		twin, twinServer, _ := open(t, redisstore.Options{})
		for _, server := range []*miniredis.Miniredis{server, twinServer} { // so that they know the scripts, and run them at once
			other, _ := openOn(t, server, redisstore.Options{Name: "other"})
			furnish(t, other)
			for _, call := range writingCalls(other) {
				_, err := call.do(t.Context())
				must(t, err)
			}
		}
		furnish(t, s)
		furnish(t, twin)
		calls := writingCalls(twin)
		for i, call := range writingCalls(s) {
			t.Run(call.name+"/"+row.name, func(t *testing.T) {
				wantAnswer, wantError := calls[i].do(t.Context())
				must(t, wantError)
				before := s.Stats()
				l.once(row.fault)
				answer, err := call.do(t.Context())
				must(t, err)
				want(t, "answer", answer, wantAnswer)
				want(t, "data", dump(server), dump(twinServer))
				if s.Stats().Retries == before.Retries {
					t.Error("no retry was counted")
				}
				if row.fault == mixReply && s.Stats().Mixups == before.Mixups {
					t.Error("no mixup was counted")
				}
			})
		}
		l.set(nil)
	}
}

// A connection that is one answer behind returns to each call the answer to the one
// before. The store notices every such answer.
func TestAConnectionOutOfStepIsNoticed(t *testing.T) {
	s, l, _ := openLinked(t, redisstore.Options{})
	l.once(mixReply)
	for i := range 20 {
		commit(t, s, newEvent(acme, fmt.Sprint(i)))
		want(t, "events", strings.Count(logged(t, s, "acme", 0), ":"), i+1)
	}
	if s.Stats().Mixups == 0 {
		t.Error("no mixup was counted")
	}
}

// A request that arrives after later ones of its slot is refused. A network may deliver it
// long after its call has ended or was tried again.
func TestARequestThatWasOvertakenIsRefused(t *testing.T) {
	s, l, server := openLinked(t, redisstore.Options{})
	must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}))
	ds := commit(t, s, newEvent(acme, "1", "log")).Deliveries
	claim(t, s, 1)
	must(t, s.Ports().Outbox.Settle(t.Context(), deliver.Settlement{DeliveryID: ds[0].ID, Due: start})) // gives the claim back
	late := l.captured()
	if reply := resend(t, server.Addr(), late); !strings.HasPrefix(reply, "*1") {
		t.Errorf("the same request again gives %q: want its answer", reply)
	}
	for i := range 100 { // slots are used in turn
		claim(t, s, 1)
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Amount: 1}))
	}
	before := server.Dump()
	if reply := resend(t, server.Addr(), late); !strings.Contains(reply, "came too late") {
		t.Errorf("a request that was overtaken gives %q: want an error", reply)
	}
	want(t, "data", server.Dump(), before)
}

// failFirst makes the server answer the first n scripts with an error.
func failFirst(n int, message string) mini.Hook {
	return func(p *mini.Peer, cmd string, _ ...string) bool {
		if !strings.HasPrefix(cmd, "EVAL") || n == 0 {
			return false
		}
		n--
		p.WriteError(message)
		return true
	}
}

func TestRetries(t *testing.T) {
	for _, row := range []struct {
		message string
		again   bool
	}{
		{"LOADING Redis is loading the dataset in memory", true},
		{"READONLY You can't write against a read only replica. script: f, on @user_script:9.", true},
		{"CLUSTERDOWN The cluster is down", true},
		{"TRYAGAIN Multiple keys request during rehashing of slot", true},
		{"MASTERDOWN Link with MASTER is down", true},
		{"NOREPLICAS Not enough good replicas to write.", true},
		{"MOVED 1 127.0.0.1:1", true},
		{"BUSY Redis is busy running a script.", true},
		{"ERR max number of clients reached", true},
		{"OOM command not allowed when used memory > 'maxmemory'.", false},
		{"MISCONF Redis is configured to save RDB snapshots", false},
		{"NOPERM this user has no permissions to run the 'evalsha' command", false},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", false},
	} {
		t.Run(row.message, func(t *testing.T) {
			s, server, _ := open(t, redisstore.Options{})
			server.Server().SetPreHook(failFirst(3, row.message))
			err := s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", Amount: 1})
			if row.again {
				must(t, err)
				want(t, "retries", s.Stats().Retries, 3)
				return
			}
			word, _, _ := strings.Cut(row.message, " ")
			if err == nil || !strings.Contains(err.Error(), word) || errors.Is(err, redisstore.ErrUnknown) {
				t.Errorf("error = %v, want the server's, and none that leaves the outcome open", err)
			}
			want(t, "retries", s.Stats().Retries, 0)
		})
	}
}

func TestWhatIsUnknownAfterRetryFor(t *testing.T) {
	for _, row := range []struct {
		name    string
		break_  func(l *link, server *mini.Server)
		unknown bool
	}{
		{"replies are lost", func(l *link, _ *mini.Server) { l.set(func([]byte) linkFault { return loseReply }) }, true},
		{"the server refuses", func(_ *link, server *mini.Server) { server.SetPreHook(failFirst(1000, "LOADING")) }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, l, server := openLinked(t, redisstore.Options{RetryFor: 50 * time.Millisecond})
			row.break_(l, server.Server())
			err := s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", Amount: 1})
			if err == nil || errors.Is(err, redisstore.ErrUnknown) != row.unknown {
				t.Errorf("error = %v, want ErrUnknown: %v", err, row.unknown)
			}
			_, err = s.Ports().Ledger.Balance(t.Context(), "acme")
			if err == nil || errors.Is(err, redisstore.ErrUnknown) {
				t.Errorf("error of a call that reads = %v, want one other than ErrUnknown", err)
			}
			l.set(nil)
			server.Server().SetPreHook(nil)
			must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "e", Owner: "acme", Amount: 1}))
			b, err := s.Ports().Ledger.Balance(t.Context(), "acme")
			must(t, err)
			want(t, "balance", b.Available, 1)
		})
	}
}

// hang makes scripts wait until the test ends.
func hang(t *testing.T, server *mini.Server) (reached <-chan struct{}) {
	at, release := make(chan struct{}, 100), make(chan struct{})
	server.SetPreHook(func(_ *mini.Peer, cmd string, _ ...string) bool {
		if strings.HasPrefix(cmd, "EVAL") {
			at <- struct{}{}
			<-release
		}
		return false
	})
	t.Cleanup(func() { close(release) })
	return at
}

func TestACallUnderWayEndsWithItsContext(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{})
	reached := hang(t, server.Server())
	var ctx context.Context
	var err error
	for wait := 50 * time.Millisecond; len(reached) == 0; wait *= 4 { // a slow machine takes longer to reach the server
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(t.Context(), wait)
		defer cancel()
		err = s.Ports().Ledger.Append(ctx, billing.Entry{ID: "e", Owner: "acme", Amount: 1})
	}
	wantErr(t, err, context.DeadlineExceeded)
	wantErr(t, err, redisstore.ErrUnknown)
	_, err = s.Ports().Ledger.Balance(ctx, "acme")
	wantErr(t, err, context.DeadlineExceeded)
}

func TestCloseCutsCallsShort(t *testing.T) {
	server := miniredis.RunT(t)
	to := &redis.UniversalOptions{Addrs: []string{server.Addr()}, ReadTimeout: time.Hour}
	s, _ := openBy(t, to, redisstore.Options{})
	reached := hang(t, server.Server())
	done := make(chan error)
	go func() {
		done <- s.Ports().Ledger.Append(context.Background(), billing.Entry{ID: "e", Owner: "acme", Amount: 1})
	}()
	<-reached
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	closing := make(chan error)
	go func() { closing <- s.Close(ctx) }()
	err := <-done
	wantErr(t, err, redisstore.ErrClosed)
	wantErr(t, err, redisstore.ErrUnknown)
	wantErr(t, <-closing, context.DeadlineExceeded)
	wantErr(t, s.Close(t.Context()), redisstore.ErrClosed)
}
