package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const termLease = 10 * time.Second

// two opens one file twice, as two processes do, with one clock.
func two(t testing.TB) (a, b *sqlite.Store, c *clock) {
	t.Helper()
	path := newFile(t)
	c = new(clock)
	for _, s := range []**sqlite.Store{&a, &b} {
		opened, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: c.Now})
		must(t, err)
		t.Cleanup(func() { closed(t, opened) })
		*s = opened
	}
	return a, b, c
}

func join(t testing.TB, s *sqlite.Store, name string) fleet.State {
	t.Helper()
	st, err := s.Members().Join(t.Context(), fleet.Node{Name: name, Weight: 1, Lease: termLease})
	must(t, err)
	return st
}

func beat(t testing.TB, s *sqlite.Store, b fleet.Beat) fleet.State {
	t.Helper()
	b.Weight = 1
	st, err := s.Members().Beat(t.Context(), b)
	must(t, err)
	return st
}

// commitAs commits an event under a fence, with its own error.
func commitAs(t testing.TB, s *sqlite.Store, f fleet.Fence, tweetID string) error {
	t.Helper()
	return s.Journal().Commit(t.Context(), []*detect.Batch{{Fence: f, Events: newEvents(acme, tweetID), Cursor: &detect.Cursor{Target: "nasa", Since: start}}})
}

func TestACommitShowsTheFenceOfItsTerm(t *testing.T) {
	a, b, c := two(t)
	must(t, commitAs(t, a, fleet.Fence{}, "alone"))
	first := join(t, a, "a")
	wantErr(t, commitAs(t, b, fleet.Fence{}, "beside a fleet"), fleet.ErrShared)
	must(t, commitAs(t, a, first.Fence, "without parts"))
	taken := beat(t, a, fleet.Beat{Fence: first.Fence, Want: 2})
	want(t, "generation after parts were taken", taken.Fence.Generation, 2)
	wantErr(t, commitAs(t, a, first.Fence, "generation before"), fleet.ErrFenced)
	wantErr(t, commitAs(t, a, fleet.Fence{Term: taken.Fence.Term, Generation: 3}, "generation to come"), fleet.ErrFenced)
	must(t, commitAs(t, a, taken.Fence, "with parts"))
	again := beat(t, a, fleet.Beat{Fence: taken.Fence, Want: 2})
	want(t, "fence after a beat that changed nothing", again.Fence, taken.Fence)

	other := join(t, b, "b")
	c.Advance(termLease)
	must(t, commitAs(t, a, taken.Fence, "after the lease, of which nobody made use"))
	beat(t, b, fleet.Beat{Fence: other.Fence, Suspects: []string{taken.Fence.Term}})
	wantErr(t, commitAs(t, a, taken.Fence, "evicted"), fleet.ErrFenced)
	_, err := a.Members().Beat(t.Context(), fleet.Beat{Fence: taken.Fence, Weight: 1})
	wantErr(t, err, fleet.ErrFenced)

	c.Advance(termLease)
	must(t, commitAs(t, a, fleet.Fence{}, "alone again"))
	wantErr(t, commitAs(t, b, other.Fence, "ended by an engine that is alone"), fleet.ErrFenced)
	st, err := a.Members().Look(t.Context())
	must(t, err)
	want(t, "terms", len(st.Members), 0)
	want(t, "free parts", st.Free, fleet.Parts)
	want(t, "events", tweets(eventsOf(t, a, "acme")),
		"1:alone 2:without parts 3:with parts 4:after the lease, of which nobody made use 5:alone again")
}

// Calls that share a transaction are looked at one by one: a beat between two commits
// refuses the second, and a beat that is refused changes nothing for it.
func TestFencesWithinOneTransaction(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	f := join(t, s, "a").Fence
	begun, end := make(chan struct{}), make(chan struct{})
	blocked := background(func() error { return s.Block(context.Background(), begun, end) })
	<-begun
	var answers []<-chan error
	for i, do := range []func() error{
		func() error { return commitAs(t, s, f, "before") },
		func() error {
			_, err := s.Members().Beat(t.Context(), fleet.Beat{Fence: fleet.Fence{Term: f.Term, Generation: 9}, Want: 1, Weight: 1})
			return err
		},
		func() error { return commitAs(t, s, f, "between") },
		func() error {
			_, err := s.Members().Beat(t.Context(), fleet.Beat{Fence: f, Want: 1, Weight: 1})
			return err
		},
		func() error { return commitAs(t, s, f, "after") },
	} {
		answers = append(answers, background(do))
		for s.Queued() < i+1 {
			runtime.Gosched()
		}
	}
	close(end)
	must(t, <-blocked)
	for i, wanted := range []error{nil, fleet.ErrFenced, nil, nil, fleet.ErrFenced} {
		if err := <-answers[i]; !errors.Is(err, wanted) {
			t.Errorf("call %d: error = %v, want %v", i, err, wanted)
		}
	}
	want(t, "events", tweets(eventsOf(t, s, "acme")), "1:before 2:between")
}

func TestPartsHaveOneTerm(t *testing.T) {
	a, b, c := two(t)
	one, other := join(t, a, "one"), join(t, b, "other")
	one = beat(t, a, fleet.Beat{Fence: one.Fence, Want: 700})
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Want: 700})
	want(t, "parts of the first", one.Own.Len(), 700)
	want(t, "parts of the second", other.Own.Len(), fleet.Parts-700)
	want(t, "parts of both", one.Own.And(other.Own), fleet.Set{})
	want(t, "free", other.Free, 0)
	give := one.Own.First(188)
	one = beat(t, a, fleet.Beat{Fence: one.Fence, Give: give.Plus(other.Own), Want: 700})
	want(t, "parts left of what was given up", one.Own.And(give), fleet.Set{})
	want(t, "free after that", one.Free, 188)
	want(t, "generation", one.Fence.Generation, 3)
	other = beat(t, b, fleet.Beat{Fence: fleet.Fence{Term: other.Fence.Term, Generation: 1}, Want: 512}) // an answer was lost
	want(t, "parts of the second then", other.Own.Len(), 512)
	c.Advance(-time.Hour)
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Want: 512})
	c.Advance(termLease)
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Want: fleet.Parts, Suspects: []string{one.Fence.Term, other.Fence.Term}})
	want(t, "parts after the other's lease, which a clock ahead had made long", other.Own, fleet.All())
	again := join(t, a, "other")
	want(t, "terms after one of the same name", len(again.Members), 1)
	want(t, "free after one of the same name", again.Free, fleet.Parts)
	must(t, a.Members().Leave(t.Context(), other.Fence))
	must(t, a.Members().Leave(t.Context(), again.Fence))
	st, err := b.Members().Look(t.Context())
	must(t, err)
	want(t, "terms", len(st.Members), 0)
	want(t, "beats", st.Beats, 9)
	want(t, "epoch", st.Epoch, 0)
}

func TestGrantsAreNoMoreThanThereIs(t *testing.T) {
	a, b, _ := two(t)
	one, other := join(t, a, "one"), join(t, b, "other")
	one = beat(t, a, fleet.Beat{Fence: one.Fence, Asks: []fleet.Ask{{Budget: "x", Total: 10, Rate: 8}, {Budget: "y", Total: 1, Rate: 1}}})
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Asks: []fleet.Ask{{Budget: "x", Total: 10, Rate: 5}, {Budget: "z", Total: 1, Rate: -1}}})
	want(t, "grants", fmt.Sprint(one.Grants, other.Grants), "map[x:8 y:1] map[x:2 z:0]")
	one = beat(t, a, fleet.Beat{Fence: one.Fence, Asks: []fleet.Ask{{Budget: "x", Total: 10, Rate: 5}}})
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Asks: []fleet.Ask{{Budget: "x", Total: 10, Rate: 5}}})
	want(t, "grants", fmt.Sprint(one.Grants, other.Grants, other.Members[0].Grants), "map[x:5] map[x:5] map[x:5]")
	must(t, a.Members().Leave(t.Context(), one.Fence))
	other = beat(t, b, fleet.Beat{Fence: other.Fence, Asks: []fleet.Ask{{Budget: "x", Total: 10, Rate: 50}}})
	want(t, "grants", fmt.Sprint(other.Grants), "map[x:10]")
}

func TestAStoreThatLostItsEndDrawsAnEpoch(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	f := join(t, s, "a").Fence
	st := beat(t, s, fleet.Beat{Fence: f, Seen: 1})
	want(t, "epoch of a store that lost nothing", st.Epoch, 0)
	want(t, "beats", st.Beats, 2)
	ahead := beat(t, s, fleet.Beat{Fence: f, Seen: 100})
	want(t, "beats", ahead.Beats, 101)
	lost := beat(t, s, fleet.Beat{Fence: f, Seen: 101, Lost: true})
	if ahead.Epoch == 0 || lost.Epoch == 0 || ahead.Epoch == lost.Epoch {
		t.Errorf("epochs %d and %d, want two others than 0", ahead.Epoch, lost.Epoch)
	}
	st = beat(t, s, fleet.Beat{Fence: f, Seen: lost.Beats})
	want(t, "epoch that stays", st.Epoch, lost.Epoch)
}

// Every change of a record has its entry, in order, and what changes nothing has none.
func TestFeed(t *testing.T) {
	s, other, _ := two(t)
	ctx := t.Context()
	m := monitor.Monitor{ID: "m", Owner: "acme", Name: "n", Status: monitor.Active}
	must(t, s.Monitors().Create(ctx, m))
	wantErr(t, s.Monitors().Create(ctx, m), monitor.ErrDuplicate)
	must(t, s.Monitors().Update(ctx, m))
	wantErr(t, s.Monitors().Update(ctx, m), monitor.ErrConflict)
	r := rule.Rule{ID: "r", Owner: "acme", Tag: "t"}
	must(t, s.Rules().Create(ctx, r))
	must(t, s.Rules().Update(ctx, r))
	e := deliver.Endpoint{ID: "e", Source: acme, URL: "https://example.com/e", Secret: "s3cr3t-s3cr3t-s3cr3t-s3cr3t", Status: deliver.EndpointActive}
	must(t, s.Endpoints().Create(ctx, e))
	wantErr(t, s.Endpoints().Create(ctx, e), deliver.ErrEndpointDuplicate)
	must(t, s.Endpoints().Update(ctx, e))
	k := apikey.Key{ID: "k", Owner: "acme", Hash: strings.Repeat("0123456789abcdef", 4)}
	must(t, s.Keys().Create(ctx, k))
	wantErr(t, s.Keys().Create(ctx, k), apikey.ErrDuplicate)
	must(t, s.Keys().Update(ctx, k))
	for range 2 { // the second finds nothing
		s.Monitors().Delete(ctx, "acme", "m")
		s.Rules().Delete(ctx, "acme", "r")
		s.Endpoints().Delete(ctx, "acme", "e")
		s.Keys().Delete(ctx, "acme", k.ID)
	}
	changes, err := other.Feed().Since(ctx, 0, 100)
	must(t, err)
	got := ""
	for _, c := range changes {
		got += fmt.Sprint(c.N, c.Kind, " ", c.Owner, c.ID, " ")
	}
	want(t, "changes", got, "1monitor acmem 2monitor acmem 3rule acmer 4rule acmer 5endpoint acmee 6endpoint acmee 7key acmek 8key acmek "+
		"9monitor acmem 10rule acmer 11endpoint acmee 12key acmek ")
	changes, err = other.Feed().Since(ctx, 9, 2)
	must(t, err)
	want(t, "two after the ninth", fmt.Sprint(changes), "[{10 rule acme r} {11 endpoint acme e}]")
	last, err := other.Feed().Last(ctx)
	must(t, err)
	want(t, "last", last, 12)
	_, err = other.Feed().Since(ctx, 13, 1)
	wantErr(t, err, fleet.ErrTooOld)
}

func TestFeedKeepsTheLast(t *testing.T) {
	path := newFile(t)
	db := raw(t, path)
	run(t, db, `WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 12999)
		INSERT INTO changes SELECT n, 'rule', 'acme', 'r' FROM i`)
	must(t, db.Close())
	s, _ := openAt(t, path, sqlite.Options{})
	bind(t, s, acme, "a")
	changes, err := s.Feed().Since(t.Context(), 3000, 20_000)
	must(t, err)
	want(t, "kept", len(changes), 10_000)
	_, err = s.Feed().Since(t.Context(), 2999, 1)
	wantErr(t, err, fleet.ErrTooOld)
}
