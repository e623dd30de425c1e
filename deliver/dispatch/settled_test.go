package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// settles is an outbox whose Settle is settle.
type settles struct {
	deliver.Outbox
	settle func(ctx context.Context, ss []deliver.Settlement) error
}

func (o settles) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	return o.settle(ctx, ss)
}

// A call that renews many claims goes on from where it ended when the time is over.
func TestRenewalGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 8000
		renewed := map[string]int{}
		b := newBench(t, func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
			return takes(8*time.Second)(ctx, nil)
		}, func(c *dispatch.Config) {
			c.LaneQueue = held
			store := c.Outbox
			c.Outbox = settles{store, func(ctx context.Context, ss []deliver.Settlement) error {
				if ss[0].Attempt != nil {
					return store.Settle(ctx, ss...)
				}
				select {
				case <-time.After(1100 * time.Millisecond):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				for _, s := range ss {
					renewed[s.DeliveryID]++
				}
				return store.Settle(ctx, ss...)
			}}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", held, true)
		pass(40 * time.Second)
		twice := 0
		for _, n := range renewed {
			if n > 1 {
				twice++
			}
		}
		if len(renewed) < held-100 || twice > 0 {
			t.Errorf("%d of %d claims renewed in 40 s, %d of them twice; want all, and none twice", len(renewed), held, twice)
		}
		b.cut()
		<-b.done
	})
}

// failing are replays whose next Running or Step fails, when that is set, and clears it.
type failing struct {
	deliver.Replays
	running, step atomic.Pointer[func(context.Context) error]
}

func (f *failing) Running(ctx context.Context, due time.Time, limit int) ([]deliver.Replay, error) {
	if fail := f.running.Swap(nil); fail != nil {
		return nil, (*fail)(ctx)
	}
	return f.Replays.Running(ctx, due, limit)
}

func (f *failing) Step(ctx context.Context, s deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	if fail := f.step.Swap(nil); fail != nil {
		return deliver.Replay{}, nil, (*fail)(ctx)
	}
	return f.Replays.Step(ctx, s)
}

// A replay begins within seconds, also when the store fails once in finding it; that is
// logged.
func TestReplayBeginsAfterAFailedRead(t *testing.T) {
	down := func(context.Context) error { return errors.New("store is down") }
	silent := func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	for _, row := range []struct {
		name          string
		running, step func(context.Context) error
		log, waits    string
	}{
		{"an error", down, nil, "cannot read replays", ""},
		{"no answer", silent, nil, "cannot read replays", ""},
		{"a step that fails", nil, down, "cannot make a step of a replay", "the store does not answer"},
		{"a step without an answer", nil, silent, "cannot make a step of a replay", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var replays *failing
				var log bytes.Buffer
				b := newBench(t, nil, func(c *dispatch.Config) {
					replays = &failing{Replays: c.Replays}
					c.Replays, c.Logger = replays, slog.New(slog.NewTextHandler(&log, nil))
				})
				b.commit("a", "old", 1, false) // before there is an endpoint
				b.endpoint("a")
				b.run()
				pass(time.Minute)
				if row.running != nil {
					replays.running.Store(&row.running)
				} else {
					replays.step.Store(&row.step)
				}
				b.replay(1)
				synctest.Wait()
				if r, err := b.d.Replay(t.Context(), "o", "a"); r.Waits != row.waits || err != nil {
					t.Errorf("it waits for %q, %v; want %q", r.Waits, err, row.waits)
				}
				pass(8 * time.Second)
				if r, err := b.d.Replay(t.Context(), "o", "a"); r.State != deliver.ReplayDone || r.Waits != "" || err != nil || len(b.all()) != 1 {
					t.Errorf("%+v, %v after %d attempts 8 s after StartReplay, want it done with 1", r, err, len(b.all()))
				}
				if strings.Count(log.String(), row.log) != 1 {
					t.Errorf("the log does not tell once of the failure: %s", &log)
				}
				b.stop()
			})
		})
	}
}

// Settled gets every outcome once, after the store has it, and says how it came about.
func TestOutcomesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var stored func(id string) deliver.LogEntry
		refuse := true
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			return deliver.Result{OK: !refuse, StatusCode: 500, Error: "status 500"}
		}, func(c *dispatch.Config) {
			c.RetrySchedule = []time.Duration{time.Minute}
			c.Settled = func(o dispatch.Settled) {
				if e := stored(o.Delivery.ID); e.State != o.Settlement.State || e.Attempts != o.Settlement.Attempt.N {
					t.Errorf("told of %+v, and the store has %+v", o.Settlement, e)
				}
				told = append(told, fmt.Sprintf("%s %d %s replayed:%t refused:%t", o.Delivery.Event.TweetID, o.Settlement.Attempt.N, o.Settlement.State, o.Replayed, o.Refused))
			}
		})
		stored = func(id string) deliver.LogEntry {
			e, err := b.store.Ports().Log.Delivery(t.Context(), "o", id)
			if err != nil {
				t.Error(err)
			}
			return e
		}
		expect := func(when string, want ...string) {
			t.Helper()
			pass(5 * time.Minute)
			if !slices.Equal(told, want) {
				t.Errorf("%s: %q, want %q", when, told, want)
			}
			told = nil
		}
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		expect("fails", "p0 1 retrying replayed:false refused:false", "p0 2 failed replayed:false refused:false")
		refuse = false
		b.commit("a", "q", 1, true)
		expect("arrives", "q0 1 delivered replayed:false refused:false")
		b.replay(2)
		expect("is sent again", "p0 3 delivered replayed:true refused:false")
		b.commit("a", "r", 1, false)
		b.change("a", func(e *deliver.Endpoint) { e.Status = deliver.EndpointDisabled })
		expect("is disabled", "r0 1 failed replayed:false refused:true")
		b.stop()
	})
}
