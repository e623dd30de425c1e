package redisstore

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
)

// counted opens a store on a server of its own whose script of that name counts the turns of
// its loops. The function returns how many one of its calls made, at most.
func counted(t *testing.T, name string) (*Store, func() int) {
	t.Helper()
	server := miniredis.RunT(t)
	s, err := Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, Options{AllowEviction: true})
	if err != nil {
		t.Fatal(err)
	}
	sc := scripts()[name]
	was := *sc
	t.Cleanup(func() {
		*sc = was
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	code := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(sc.source, "")
	code = regexp.MustCompile(`\b(do|repeat)\b`).ReplaceAllString(code, "$1 COUNTED = COUNTED + 1;")
	begin := "local function reply(...) "
	if !strings.Contains(code, begin) {
		t.Fatalf("script %s has no %s", name, begin)
	}
	sc.source = "local COUNTED = 0\n" + strings.Replace(code, begin, begin+"redis.call('SET', 'turns', math.max(COUNTED, tonumber(redis.call('GET', 'turns') or '0'))) ", 1)
	sc.hash = redis.NewScript(sc.source).Hash()
	return s, func() int {
		text, err := server.Get("turns")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// The server waits while a claim merges the lanes that have something due: each delivery
// takes few steps, however many these are.
func TestClaimTakesFewStepsAmongManyLanes(t *testing.T) {
	s, turns := counted(t, "outbox_claim")
	const lanes, claimed, rounds = 300, 100, 2
	now := time.Now()
	var order []string
	for round := range rounds {
		b := &detect.Batch{}
		for i := range lanes {
			src := deliver.Source{Kind: deliver.SourceMonitor, Owner: "acme", ID: fmt.Sprint("m", i)}
			if round == 0 {
				e := deliver.Endpoint{ID: fmt.Sprint("ep", i), Source: src, URL: "https://example.com/", Status: deliver.EndpointActive}
				if err := roles.Endpoints(s.Ports().Records).Create(t.Context(), e); err != nil {
					t.Fatal(err)
				}
			}
			b.Events = append(b.Events, deliver.Event{ID: fmt.Sprint("ev", round, "-", i), Source: src, Body: []byte("{}")})
			order = append(order, fmt.Sprint("ev", round, "-", i))
		}
		if err := s.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
	for at := 0; at < len(order); at += claimed {
		ds, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: now.Add(time.Minute), Lease: time.Hour, Limit: claimed})
		if err != nil {
			t.Fatal(err)
		}
		if len(ds) != claimed {
			t.Fatalf("claimed %d deliveries, want %d", len(ds), claimed)
		}
		for i := range ds {
			if ds[i].Event.ID != order[at+i] {
				t.Fatalf("delivery %d is of event %s, want %s: the longest due first", at+i, ds[i].Event.ID, order[at+i])
			}
		}
		// A part and a lane move in a heap of up to 600, and lanes are linked anew.
		if n := turns(); n > 60*claimed {
			t.Errorf("claim of %d from %d lanes: %d turns of loops, want 60 for each at most", claimed, lanes, n)
		}
	}
}

// Items without events, which Erase leaves in a list, are passed over by several calls: the
// server waits for none of them long, and the list is emptied.
func TestWhatEraseLeavesIsRemovedInSteps(t *testing.T) {
	s, turns := counted(t, "outbox_settle")
	now, ctx := time.Now(), t.Context()
	s.opts.Now = func() time.Time { return now }
	const events, calls = 2000, 10
	src := deliver.Source{Kind: deliver.SourceMonitor, Owner: "acme", ID: "m"}
	if err := roles.Endpoints(s.Ports().Records).Create(ctx, deliver.Endpoint{ID: "ep", Source: src, URL: "https://example.com/", Status: deliver.EndpointActive}); err != nil {
		t.Fatal(err)
	}
	b := &detect.Batch{}
	for i := range events {
		b.Events = append(b.Events, deliver.Event{ID: fmt.Sprint("ev", i), Source: src, Body: []byte("{}")})
	}
	if err := s.Ports().Journal.Commit(ctx, []*detect.Batch{b}); err != nil {
		t.Fatal(err)
	}
	if err := roles.Endpoints(s.Ports().Records).Delete(ctx, "acme", "ep"); err != nil { // settles all of them
		t.Fatal(err)
	}
	if _, err := s.Sweep(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(s.opts.Retention)
	for call := range calls {
		if err := s.Ports().Outbox.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		// Eight items for each of the 64 events that a call may remove.
		if n := turns(); n > 5000 {
			t.Errorf("call %d: %d turns of loops, want 5,000 at most", call, n)
		}
	}
	if left, err := s.redis.LLen(ctx, s.prefix+"settled").Result(); left != 0 || err != nil {
		t.Errorf("%d items are left after %d calls (%v), want none", left, calls, err)
	}
}
