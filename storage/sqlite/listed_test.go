package sqlite_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Events are known, numbered and listed in the same way by whoever asks.
func TestListedEvents(t *testing.T) {
	t.Parallel()
	for _, made := range []int{1, 40} {
		for _, row := range []struct {
			name string
			then func(t *testing.T, s *sqlite.Store, path string) *sqlite.Store
		}{
			{"as committed", func(t *testing.T, s *sqlite.Store, path string) *sqlite.Store { return s }},
			{"after a restart", func(t *testing.T, s *sqlite.Store, path string) *sqlite.Store {
				closed(t, s)
				reopened, _ := openAt(t, path, sqlite.Options{})
				return reopened
			}},
			{"by a new connection", func(t *testing.T, s *sqlite.Store, path string) *sqlite.Store {
				must(t, s.Reconnect(t.Context()))
				return s
			}},
		} {
			t.Run(fmt.Sprint(made, " ", row.name), func(t *testing.T) {
				t.Parallel()
				path := newFile(t)
				s, _ := openAt(t, path, sqlite.Options{})
				var numbered, delivered []string // tweets of acme
				for n := range made {
					src := acme
					if n%4 == 3 {
						src = globex
					}
					ev := newEvent(src, fmt.Sprint(n))
					if n%2 == 0 {
						ev.AuthorUsername, ev.Handlers = "Ärzte", []string{"a", "b"}
					}
					commitAt(t, s, start, ev)
					if src == acme {
						numbered = append(numbered, fmt.Sprintf("%d:%d", len(numbered)+1, n))
						if n%2 == 0 {
							delivered = append(delivered, ev.TweetID, ev.TweetID)
						}
					}
				}
				want(t, "rows", rows(t, s, "events"), made)
				s = row.then(t, s, path)
				wantListed(t, s, numbered, delivered)
				for n := range made {
					src := acme
					if n%4 == 3 {
						src = globex
					}
					want(t, fmt.Sprint("number of a known one, ", n), seqs(commitAt(t, s, start, newEvent(src, fmt.Sprint(n))).Events), "0")
				}
				want(t, "next number", seqs(commitAt(t, s, start, newEvent(acme, "new")).Events), fmt.Sprint(len(numbered)+1))
			})
		}
	}
}

// wantListed asks for the events and deliveries of acme, whole and in pages.
func wantListed(t *testing.T, s *sqlite.Store, numbered, delivered []string) {
	t.Helper()
	for _, limit := range []int{1, 7, 1000} {
		var got []string
		for after := uint64(0); ; {
			evs, err := s.Log().Events(t.Context(), "acme", after, limit)
			must(t, err)
			if len(evs) == 0 {
				break
			}
			got, after = append(got, tweets(evs)), evs[len(evs)-1].Seq
		}
		want(t, fmt.Sprint("events, ", limit, " at a time"), strings.Join(got, " "), strings.Join(numbered, " "))
	}
	for _, asc := range []bool{true, false} {
		for _, size := range []int{3, 1000} {
			var got []string
			for page := 1; ; page++ {
				p, err := s.Log().Deliveries(t.Context(), deliver.LogQuery{
					Owner: "acme", SourceID: acme.ID, SourceKind: acme.Kind, AuthorUsername: "äRZTE", State: deliver.StatePending,
					Asc: asc, Page: page, PageSize: size,
				})
				must(t, err)
				want(t, "deliveries in all", p.Total, len(delivered))
				if len(p.Entries) == 0 {
					break
				}
				for _, e := range p.Entries {
					got = append(got, e.Event.TweetID)
				}
			}
			all := fmt.Sprint(delivered)
			if !asc {
				all = ""
				for _, tweet := range delivered {
					all = tweet + " " + all
				}
				all = "[" + strings.TrimSpace(all) + "]"
			}
			want(t, fmt.Sprint("deliveries, ", size, " at a time, ascending ", asc), fmt.Sprint(got), all)
		}
	}
	p, err := s.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", AuthorUsername: "NASA"})
	must(t, err)
	want(t, "deliveries of another author", p.Total, 0)
	evs, err := s.Log().Events(t.Context(), "acme", math.MaxUint64, 10)
	must(t, err)
	want(t, "events after all", len(evs), 0)
}

// A commit that is refused leaves nothing in the transaction that others share.
func TestARefusedCommitLeavesNothing(t *testing.T) {
	tooMany := newEvent(acme, "bad")
	for i := range 1<<16 + 1 {
		tooMany.Handlers = append(tooMany.Handlers, fmt.Sprint(i))
	}
	h := hold(t)
	commit := func(n int, evs ...deliver.Event) <-chan error {
		return h.queue(n, func() error { return h.s.Journal().Commit(context.Background(), []*detect.Batch{{Events: evs}}) })
	}
	var many []deliver.Event
	for i := range 40 {
		many = append(many, newEvent(acme, fmt.Sprint("many ", i)))
	}
	good := commit(1, newEvent(acme, "1"))
	bad := commit(2, newEvent(acme, "2"), tooMany)
	manyAndBad := commit(3, append(many, tooMany)...)
	h.release()
	must(t, <-good)
	wantErr(t, <-bad, errAny)
	wantErr(t, <-manyAndBad, errAny)
	want(t, "numbers", seqs(commitAt(t, h.s, start, newEvents(acme, "1", "2", "bad", "many 0")...).Events), "0 2 3 4")
	commitAt(t, h.s, start, many...)
	want(t, "rows", rows(t, h.s, "events"), 43)
	want(t, "listed", len(eventsOf(t, h.s, "acme")), 43)
}

// Ids and owners that are no UTF-8 are known as they were given.
func TestKeysThatAreNoUTF8(t *testing.T) {
	ev := newEvent(acme, "1")
	ev.ID += "\xff"
	other := newEvent(source("ow\xffner", "m1"), "2")
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	commitAt(t, s, start, ev)
	commitAt(t, s, start, other)
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{})
	want(t, "known", seqs(commitAt(t, s, start, ev, other).Events), "0 0")
	want(t, "next", seqs(commitAt(t, s, start, newEvent(other.Source, "3")).Events), "2")
}

// Events are numbered without holes however many of a call are known, or there
// twice.
func TestFewNewEventsAmongMany(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	var many []deliver.Event
	for n := range 40 {
		many = append(many, newEvent(acme, fmt.Sprint(n)))
	}
	commitAt(t, s, start, many[:39]...)
	commitAt(t, s, start, newEvent(acme, "late"))
	b := commitAt(t, s, start, append(many, newEvent(acme, "late"), newEvent(acme, "39"))...)
	want(t, "numbers", seqs(b.Events), strings.Repeat("0 ", 39)+"41 0 0")
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{})
	for n := range 40 {
		want(t, "number", seqs(commitAt(t, s, start, newEvent(acme, fmt.Sprint("after ", n))).Events), fmt.Sprint(42+n))
	}
	want(t, "listed", len(eventsOf(t, s, "acme")), 81)
}

// The ids of removed events are known as long as Options.IDRetention says.
func TestIDsAreForgotten(t *testing.T) {
	s, c := open(t, sqlite.Options{MaxEvents: 1, IDRetention: time.Hour})
	commitAt(t, s, start, newEvents(acme, "1", "2")...)
	c.Advance(time.Hour)
	must(t, s.Outbox().Settle(t.Context())) // any write
	want(t, "numbers", seqs(commitAt(t, s, start, newEvents(acme, "1", "2")...).Events), "3 0")
}

// What is past its retention is not shown, removed or not.
func TestEventsArePastTheirRetention(t *testing.T) {
	for _, row := range []struct {
		name string
		wait time.Duration
		want string
	}{
		{"just before", time.Hour - 1, "1:1 2:2 3:3 4:4"},
		{"afterwards, all but what is open", time.Hour, "3:3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := newFile(t)
			s, c := openAt(t, path, sqlite.Options{Retention: time.Hour})
			commitAt(t, s, start, newEvent(acme, "1"), handled(acme, "2", "a"), handled(acme, "3", "a"), newEvent(acme, "4"))
			h := &history{T: t, s: s, ds: []deliver.Delivery{{}, {ID: deliver.DeliveryID(newEvent(acme, "2").ID, deliver.HandlerEndpoint("a"))}}}
			h.end(2)
			c.Advance(row.wait)
			want(t, "shown", tweets(eventsOf(t, s, "acme")), row.want)
			closed(t, s)
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Retention: time.Hour, Now: c.Now})
			must(t, err)
			defer closed(t, s)
			want(t, "shown after a restart", tweets(eventsOf(t, s, "acme")), row.want)
			must(t, s.Outbox().Settle(t.Context())) // any write
			want(t, "shown when removed", tweets(eventsOf(t, s, "acme")), row.want)
			want(t, "in the file", rows(t, s, "events"), len(strings.Fields(row.want)))
			want(t, "known all the same", seqs(commitAt(t, s, start, newEvents(acme, "1", "2", "3", "4")...).Events), "0 0 0 0")
			want(t, "next", seqs(commitAt(t, s, start, newEvent(acme, "5")).Events), "5")
		})
	}
}

// Of events that were settled at different times those settled first go first; a
// delivery that was reopened keeps its event.
func TestWhatGoesFirst(t *testing.T) {
	many := func(from, to int) (evs []deliver.Event) {
		for n := from; n <= to; n++ {
			evs = append(evs, newEvent(acme, fmt.Sprint(n)))
		}
		return evs
	}
	for _, row := range []struct {
		name string
		opts sqlite.Options
		do   func(h *history)
		want string
	}{
		{"some of one commit", sqlite.Options{MaxEvents: 3}, func(h *history) { commitAt(h.T, h.s, start, many(1, 32)...) }, "30:30 31:31 32:32"},
		{"some of one commit, one by one", sqlite.Options{MaxEvents: 3}, func(h *history) {
			commitAt(h.T, h.s, start, many(1, 4)...)
			for n := 5; n < 10; n++ {
				h.wait(time.Second)
				commitAt(h.T, h.s, start, many(n, n)...)
			}
		}, "7:7 8:8 9:9"},
		{"a clock that went back", sqlite.Options{MaxEvents: 3}, func(h *history) {
			h.wait(time.Hour)
			commitAt(h.T, h.s, start, many(1, 2)...)
			h.wait(-time.Hour)
			commitAt(h.T, h.s, start, many(3, 3)...)
			h.wait(time.Minute)
			commitAt(h.T, h.s, start, many(4, 4)...)
		}, "1:1 2:2 4:4"},
		{"a delivery in between, reopened", sqlite.Options{Retention: time.Hour}, func(h *history) {
			h.ds = commitAt(h.T, h.s, start, append(append(many(1, 15), handled(acme, "16", "a")), many(17, 32)...)...).Deliveries
			h.end(1)
			n, err := h.s.Outbox().Reopen(h.Context(), deliver.ReopenRequest{Owner: "acme", IDs: []string{h.ds[0].ID}, Due: start})
			must(h.T, err)
			want(h.T, "reopened", n, 1)
			h.wait(time.Hour)
			must(h.T, h.s.Outbox().Settle(h.Context())) // any write
		}, "16:16"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := newFile(t)
			s, c := openAt(t, path, row.opts)
			row.do(&history{T: t, s: s, c: c})
			want(t, "events", tweets(eventsOf(t, s, "acme")), row.want)
			closed(t, s)
			row.opts.Now = c.Now
			s, err := sqlite.Open(t.Context(), path, row.opts)
			must(t, err)
			defer closed(t, s)
			want(t, "events after a restart", tweets(eventsOf(t, s, "acme")), row.want)
		})
	}
}
