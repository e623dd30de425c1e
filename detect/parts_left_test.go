package detect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// SetParts that fails half-way, or cannot store a cursor, says so, and stores when it is
// called again what the next node needs: from where on the account was not read for a
// monitor that has joined it.
func TestSetPartsThatFailedIsMadeGood(t *testing.T) {
	for name, row := range map[string]struct {
		store func(w *world)
		limit time.Duration
	}{
		"the cursor is not stored": {func(w *world) {
			w.setCommitErr(func(bs []*Batch) error {
				if c := bs[0].Cursor; c != nil && c.Target == "account:nasa" {
					return errDown
				}
				return nil
			})
		}, time.Minute},
		"a commit takes too long": {func(w *world) { w.setSlowStore(20 * time.Second) }, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inHandover(t, func(t *testing.T, w *world, n *nodes, want []string) {
				row.store(w)
				w.publish("esa", "e", 0)
				after(11 * time.Second) // it is being committed
				ctx, cancel := context.WithTimeout(t.Context(), row.limit)
				defer cancel()
				if err := n.list[0].SetParts(ctx, fleet.Set{}); !errors.Is(err, errDown) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want that of the journal or context", err)
				}
				w.setCommitErr(nil)
				w.setSlowStore(0)
				n.give(t, 0, fleet.Set{})
				after(time.Minute)
				w.setBefore(nil)
				n.give(t, 1, fleet.All())
				after(time.Minute)
				if lost := missing(w, append(want, "m:e")); len(lost) > 0 {
					t.Errorf("lost %v", lost)
				}
			})
		})
	}
}

// A cursor that another node may have by now, because the term has ended, is not stored.
func TestNothingIsStoredOfALostTerm(t *testing.T) {
	for name, lose := range map[string]func(d *Detector) error{
		"as the store says": func(d *Detector) error { return d.SetParts(context.Background(), fleet.Set{}) },
		"as the node knows": func(d *Detector) error { return d.Lose(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			inHandover(t, func(t *testing.T, w *world, n *nodes, _ []string) {
				w.setCommitErr(func([]*Batch) error { return errDown })
				if err := n.list[0].SetParts(t.Context(), fleet.Set{}); !errors.Is(err, errDown) {
					t.Errorf("error %v, want that of the journal", err)
				}
				if name == "as the store says" {
					w.setCommitErr(func([]*Batch) error { return fmt.Errorf("commit: %w", fleet.ErrFenced) })
				}
				if err := lose(n.list[0]); err != nil {
					t.Errorf("error %v", err)
				}
				w.setCommitErr(nil)
				commits := w.commits
				if err := n.list[0].SetParts(t.Context(), fleet.Set{}); err != nil || w.commits != commits {
					t.Errorf("%d commits, error %v", w.commits-commits, err)
				}
			})
		})
	}
}

// inHandover runs a test on two nodes, the first of which has all parts: "m" watches two
// accounts, and "joins" has joined one of them, as a monitor does that was suspended while
// the posts of want came, and whose first poll does not end.
func inHandover(t *testing.T, test func(t *testing.T, w *world, n *nodes, want []string)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n, stop := two(t, w, nil)
		defer stop()
		since := time.Now()
		n.subs = []Subscription{sub("m", "nasa", "esa")}
		n.give(t, 0, fleet.All())
		n.give(t, 1, fleet.Set{})
		for i := range 60 {
			w.publish("nasa", fmt.Sprint("p", i), 0)
			after(2 * time.Minute)
		}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == "nasa" {
				<-time.After(8 * time.Second)
			}
			return nil, nil
		})
		joins := sub("joins", "nasa")
		joins.Accounts[0].Since = since
		n.subs = append(n.subs, joins)
		for _, d := range n.list {
			set(t, d, joins)
		}
		test(t, w, n, append(ids("joins", "p", 0, 60), ids("m", "p", 0, 60)...))
	})
}
