package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// What was under way when its endpoint was deleted is recorded with its answer, and
// what the deletion ends keeps the attempts it had.
func TestDeletionDuringAnAttempt(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer deliver.Result
		want   string // of the one under way
	}{
		{"accepted", deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "thanks"}, "delivered false 200 thanks"},
		{"refused", deliver.Result{StatusCode: 500, ResponsePreview: "oops"}, "failed true 500 oops"},
		{"refused for good", deliver.Result{StatusCode: 410, Permanent: true}, "failed true 410 "},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
					<-time.After(5 * time.Second)
					return row.answer
				}, func(c *dispatch.Config) { c.LaneInFlight = 1 })
				b.endpoint("a")
				m := b.manager()
				b.run()
				b.commit("a", "p", 3, true)
				pass(time.Second)
				if err := m.Delete(t.Context(), "o", "a"); err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				b.stop()
				if got := outcomes(t, b); !slices.Equal(got, []string{row.want, "failed true", "failed true"}) {
					t.Errorf("%q, want %q and two that have no attempt", got, row.want)
				}
			})
		})
	}
}

// Another process finds that the endpoint is gone: what it still holds is no
// attempt, though it was reopened meanwhile.
func TestDeletedByAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		b.commit("a", "p", 2, false)
		if err := b.stored().Delete(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		p, err := b.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "o"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Ports().Outbox.Reopen(t.Context(), deliver.ReopenRequest{Owner: "o", IDs: []string{p.Entries[0].ID}, Due: time.Now()}); err != nil {
			t.Fatal(err)
		}
		b.run()
		pass(time.Minute)
		b.stop()
		if got := outcomes(t, b); !slices.Equal(got, []string{"failed true", "failed true"}) {
			t.Errorf("%q, want two that failed without an attempt", got)
		}
		if n := len(b.all()); n > 0 {
			t.Errorf("%d attempts at an endpoint that is gone", n)
		}
	})
}

// outcomes are the deliveries in the order in which they were made: state,
// EndpointDeleted, and what the attempts met.
func outcomes(t *testing.T, b *bench) (out []string) {
	t.Helper()
	p, err := b.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "o", Asc: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.Entries {
		var s strings.Builder
		fmt.Fprint(&s, string(e.State), " ", e.EndpointDeleted)
		for _, a := range e.Log {
			fmt.Fprint(&s, " ", a.StatusCode, " ", a.ResponsePreview)
		}
		out = append(out, s.String())
	}
	return out
}
