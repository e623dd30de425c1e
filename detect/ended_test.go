package detect

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// calls are those of a detector that wait for its shards or for the store.
var calls = map[string]func(context.Context, *Detector) error{
	"Account": func(ctx context.Context, d *Detector) error { _, _, err := d.Account(ctx, "nasa"); return err },
	"Query":   func(ctx context.Context, d *Detector) error { _, _, err := d.Query(ctx, "moon"); return err },
	"Worst": func(ctx context.Context, d *Detector) error {
		_, err := d.Worst(ctx, WorstQuery{Limit: 1, All: true})
		return err
	},
	"Plan":           func(ctx context.Context, d *Detector) error { _, err := d.Plan(ctx); return err },
	"Set":            func(ctx context.Context, d *Detector) error { return d.Set(ctx, sub("n", "esa", "jaxa")) },
	"Remove":         func(ctx context.Context, d *Detector) error { return d.Remove(ctx, "m") },
	"SetQuery":       func(ctx context.Context, d *Detector) error { return d.SetQuery(ctx, asks("s", "sun")) },
	"RemoveQuery":    func(ctx context.Context, d *Detector) error { return d.RemoveQuery(ctx, "r") },
	"ReadUntil":      func(ctx context.Context, d *Detector) error { _, err := d.ReadUntil(ctx, "m", "nasa"); return err },
	"QueryReadUntil": func(ctx context.Context, d *Detector) error { _, err := d.QueryReadUntil(ctx, "r"); return err },
	"SetParts":       func(ctx context.Context, d *Detector) error { return d.SetParts(ctx, fleet.Set{}) },
	"Lose":           func(ctx context.Context, d *Detector) error { return d.Lose(ctx) },
	"Run":            func(ctx context.Context, d *Detector) error { return d.Run(ctx) }, // for the second time
	"Spend":          func(ctx context.Context, d *Detector) error { return d.Spend(ctx) },
}

// A call fails after the end, and when its context ends before the shards have answered.
func TestCallsThatCannotBeAnswered(t *testing.T) {
	for name, call := range calls {
		for _, ended := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				d := w.detector(t, func(c *settings) { c.Shards, c.FetchRate, c.FetchBurst = 2, 0.001, 1 })
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				setQuery(t, d, asks("r", "moon"))
				after(time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if ended {
					stop()
				} else {
					defer stop()
					cancel()
				}
				if err := call(ctx, d); err == nil {
					t.Errorf("%s, ended %t: no error", name, ended)
				} else if ended && errors.Is(err, context.Canceled) {
					t.Errorf("%s, ended %t: %v", name, ended, err)
				}
			})
		}
	}
}

// A call whose context ends while it waits for another one fails.
func TestCallsThatWaitForOthers(t *testing.T) {
	for other, waiting := range map[string][]string{
		"Set":      {"SetParts", "Lose"},
		"SetQuery": {"SetQuery", "RemoveQuery", "QueryReadUntil", "Plan", "SetParts", "Lose"},
		"SetParts": {"SetParts", "Lose"},
	} {
		for _, name := range waiting {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("m", "nasa"))
				setQuery(t, d, asks("r", "moon"))
				w.publish("nasa", "1", 0)
				w.setSlowReads(time.Minute)
				w.setSlowStore(20 * time.Second)
				after(15 * time.Second) // a commit is under way
				ended := make(chan error)
				go func() { ended <- calls[other](t.Context(), d) }()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := calls[name](ctx, d); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s during %s: %v", name, other, err)
				}
				if err := <-ended; err != nil {
					t.Errorf("%s: %v", other, err)
				}
				w.setSlowReads(0)
				w.setSlowStore(0)
				if err := errors.Join(d.SetParts(t.Context(), fleet.Set{}), d.SetParts(t.Context(), fleet.All())); err != nil {
					t.Errorf("after %s: %v", name, err)
				}
			})
		}
	}
}

// readsLeft is a context's number of a call's own reads of cursors until one fails; what the
// detector reads on beside the call does not count.
type readsLeft struct{}

var errUnread = errors.New("the journal does not answer")

// A call fails whichever of its reads of the journal does, before Run, alone and beside others.
func TestCallsThatCannotRead(t *testing.T) {
	for _, state := range []string{"before Run", "alone", "beside others"} {
		reads := 0
		for name, call := range calls {
			if name == "Run" {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				d := w.detector(t, func(c *settings) { c.Roles.Search = w })
				set(t, d, sub("m", "nasa"))
				setQuery(t, d, byAuthors(asks("r", "moon"), "nasa"))
				if state != "before Run" {
					defer start(t, d)()
					after(time.Minute)
				}
				if state == "beside others" {
					if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
						t.Fatal(err)
					}
				}
				for nth := 1; ; nth++ {
					var left atomic.Int64
					left.Store(int64(nth))
					ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), readsLeft{}, &left), time.Second)
					err := call(ctx, d)
					cancel()
					if left.Load() > 0 {
						break
					}
					if reads++; !errors.Is(err, errUnread) {
						t.Errorf("%s, %s: read %d fails: %v", name, state, nth, err)
						break
					}
				}
			})
		}
		if reads < 2 {
			t.Errorf("%s: %d reads failed", state, reads)
		}
	}
}
