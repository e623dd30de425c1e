package billing_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// slowStreams are streams that take a second to pause or resume.
type slowStreams struct{ *troubled }

func (s slowStreams) Pause(ctx context.Context, st billing.Stream) error {
	if err := second(ctx); err != nil {
		return err
	}
	return s.troubled.Pause(ctx, st)
}

func (s slowStreams) Resume(ctx context.Context, st billing.Stream) error {
	if err := second(ctx); err != nil {
		return err
	}
	return s.troubled.Resume(ctx, st)
}

func second(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openOf adds streams of an owner, from id 0 to n-1.
func (s *shop) openOf(owner string, n int, paused bool) {
	for i := range n {
		s.open(fmt.Sprint(owner, " ", i), perMinute)
		st := &s.streams[len(s.streams)-1]
		st.Owner, st.Paused = owner, paused
	}
}

// chargedOf shows the minutes for which an owner's stream was charged.
func (s *shop) chargedOf(t *testing.T, owner, id string) string {
	t.Helper()
	p, err := s.Entries(t.Context(), billing.EntryQuery{Owner: owner, SourceID: id, Asc: true, PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range p.Entries {
		all = append(all, e.At.Format("15:04"))
	}
	return strings.Join(all, " ")
}

// How many streams of one owner pause or resume delays neither the charges of a tick nor
// another owner's change.
func TestManyChangesOfOneOwnerDelayNobody(t *testing.T) {
	for _, row := range []struct {
		name   string
		paused bool
		topUp  billing.Credits // of the owners whose streams change
		change string
	}{
		{"resume", true, 100_000 * billing.Credit, "resume "},
		{"pause", false, 1, "pause "},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &troubled{shop: newShop()}
				s.openOf("a", 100, row.paused)
				s.openOf("b", 1, false)
				s.openOf("c", 1, row.paused)
				s.topUp(t, "a", row.topUp)
				s.topUp(t, "b", 1000*billing.Credit)
				s.topUp(t, "c", row.topUp)
				_, stop := s.meterOf(t, slowStreams{s})
				want(t, "b's minutes before a change is made", s.chargedOf(t, "b", "b 0"), "00:00")
				s.pass(59 * time.Second)
				s.mu.Lock()
				changed := slices.Clone(s.changes)
				s.mu.Unlock()
				if !slices.Contains(changed, row.change+"c 0") {
					t.Errorf("c's stream did not %sin the first tick, which made %d changes", row.change, len(changed))
				}
				if len(changed) < 30 || len(changed) == 101 {
					t.Errorf("%d changes in the first tick, want some, and some left for the next", len(changed))
				}
				s.logged(t, "left for the next tick", 1)
				s.pass(4 * time.Minute)
				stop()
				s.mu.Lock()
				changed = s.changes
				s.mu.Unlock()
				want(t, "changes in the end", len(changed), 101)
				want(t, "b's minutes", s.chargedOf(t, "b", "b 0"), "00:00 00:01 00:02 00:03 00:04")
				for _, id := range []string{"a 0", "a 99"} {
					minutes := s.chargedOf(t, "a", id)
					if !row.paused {
						want(t, "minutes that a's credits did not cover", minutes, "")
					} else if !strings.HasSuffix(minutes, "00:04") || strings.Contains(minutes, "00:00") {
						t.Errorf("minutes of %s, which resumed after the first: %s", id, minutes)
					}
				}
			})
		})
	}
}
