package billing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Ids that were stored stay the ids of their minutes. The end of a stream's id is
// not taken for the beginning of the minute.
func TestChargeIDsAreStable(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	want(t, "id", billing.ChargeID(billing.KindMonitor, "mon_x", at), "chg_uphwdhumpmpcchtom74wbqdeni")
	if billing.ChargeID(billing.KindRule, "r", time.Unix(12*60, 0)) == billing.ChargeID(billing.KindRule, "r1", time.Unix(2*60, 0)) {
		t.Error("minute 12 of r is minute 2 of r1")
	}
}

// A stream goes on if its credits cover sixty minutes, to the thousandth, also before 1970 and across
// midnight, a month and a year.
func TestHoursAreExact(t *testing.T) {
	for _, row := range []struct {
		at     time.Time
		perDay billing.Credits
		cost   billing.Credits
	}{
		{time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC), 1, 1},
		{time.Date(1969, 12, 31, 22, 0, 0, 0, time.UTC), 1, 0},
		{time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC), 1, 1},
		{time.Date(2026, 11, 21, 22, 59, 0, 0, time.UTC), 1, 0},
		{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), math.MaxInt64, math.MaxInt64 / 24},
		{time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), perMinute, 60 * billing.Credit},
		{time.Date(2026, 11, 21, 23, 1, 0, 0, time.UTC), perMinute, 60 * billing.Credit},
		{time.Date(2026, 11, 30, 23, 30, 0, 0, time.UTC), perMinute, 60 * billing.Credit},
		{time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC), perMinute, 60 * billing.Credit},
	} {
		for less, changes := range []string{"", "pause m"} {
			if row.cost < billing.Credits(less) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.offset = time.Until(row.at)
				s.open("m", row.perDay)
				if had := row.cost - billing.Credits(less); had > 0 {
					s.topUp(t, "acme", had)
				}
				s.run(t)()
				want(t, fmt.Sprintf("%s, %d a day with %d less than %d", row.at, row.perDay, less, row.cost), strings.Join(s.changes, " "), changes)
			})
		}
	}
}

// A minute that costs nothing is no line in the ledger.
func TestFreeMinutesAreNoEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", billing.Credit)
		s.open("free", 0)
		s.open("cheap", 2)
		stop := s.run(t)
		pass(12*time.Hour - time.Second) // half of a day, to 11:59
		stop()
		want(t, "minutes of what is free", s.minutes(t, "free"), "")
		want(t, "minutes of what costs 0.002 a day", s.minutes(t, "cheap"), "11:59")
	})
}

// Minutes that a failing ledger did not take are made up for, in whatever second
// the process started and though the ledger failed from the start.
func TestFirstMinutesAfterAStartAreMadeUpFor(t *testing.T) {
	for _, second := range []int{0, 20, 29, 30, 31, 45, 59} {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprintf("second %d, down from the start: %t", second, down), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newShop()
					s.topUp(t, "acme", 1000*billing.Credit)
					s.open("m", perMinute)
					pass(time.Duration(second) * time.Second)
					s.set(func() { s.down = down })
					stop := s.run(t)
					s.set(func() { s.down = true })
					pass(time.Duration(61-second) * time.Second)
					s.set(func() { s.down = false })
					pass(time.Minute)
					stop()
					want(t, "minutes charged", s.minutes(t, "m"), "00:00 00:01 00:02")
				})
			})
		}
	}
}

// kinds notes the kind of what is paused.
type kinds struct {
	*shop
	paused *[]string
}

func (k kinds) Pause(ctx context.Context, s billing.Stream) error {
	*k.paused = append(*k.paused, fmt.Sprint(s.Kind, " ", s.ID))
	return k.shop.Pause(ctx, s)
}

// Streams made at one moment go in the order of their ids, and then of their
// kinds, in whatever order they are listed.
func TestStreamsOfOneMomentHaveAnOrder(t *testing.T) {
	for _, row := range []struct {
		listed [2]string
		pauses string
	}{
		{[2]string{"monitor a", "monitor b"}, "monitor b"}, {[2]string{"monitor b", "monitor a"}, "monitor b"},
		{[2]string{"rule a", "monitor a"}, "rule a"}, {[2]string{"monitor a", "rule a"}, "rule a"},
		{[2]string{"rule a", "monitor b"}, "monitor b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop()
			s.topUp(t, "acme", 100*billing.Credit) // for one of them
			for i, stream := range row.listed {
				kind, id, _ := strings.Cut(stream, " ")
				s.open(id, perMinute)
				s.streams[i].Kind, s.streams[i].CreatedAt = billing.Kind(kind), time.Unix(0, 0)
			}
			var paused []string
			m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: kinds{s, &paused}, Now: s.now})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			synctest.Wait()
			cancel()
			<-done
			if !slices.Equal(paused, []string{row.pauses}) {
				t.Errorf("listed %q, pauses %q, want %q", row.listed, paused, row.pauses)
			}
		})
	}
}

// A threshold is told with what is left after the charge. 0 is one.
func TestThresholdTellsTheBalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 103*billing.Credit)
		s.topUp(t, "globex", 1) // and has nothing left
		s.open("m", perMinute)
		s.open("free", 0)
		s.streams[1].Owner = "initech"
		var told []billing.Threshold
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: s, Now: s.now, Thresholds: []billing.Credits{0, 102 * billing.Credit},
			OnThreshold: func(th billing.Threshold) {
				if th.Owner == "acme" || th.Mark == 0 {
					told = append(told, th)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		if want := []billing.Threshold{{Owner: "acme", Mark: 102 * billing.Credit, Balance: 102 * billing.Credit}, {Owner: "initech"}}; !slices.Equal(told, want) {
			t.Errorf("told %+v, want %+v", told, want)
		}
	})
}

// Owners without streams are forgotten, and told anew when they have one again.
func TestThresholdOfAnOwnerWhoComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 100*billing.Credit)
		s.open("m", perMinute)
		stop := s.run(t, 200*billing.Credit)
		pass(time.Minute)
		want(t, "told", strings.Join(s.told, " "), "acme<=200000")
		all := s.streams
		s.set(func() { s.streams = nil })
		pass(time.Minute)
		s.set(func() { s.streams = all })
		pass(time.Minute)
		stop()
		want(t, "told in all", strings.Join(s.told, " "), "acme<=200000 acme<=200000")
	})
}

// A request may name how long its credits are held; by default it is a minute from
// now.
func TestHoldsEnd(t *testing.T) {
	for _, row := range []struct {
		name    string
		holdFor time.Duration
		lasts   time.Duration
	}{{"by default", 0, time.Minute}, {"as asked", 90 * time.Minute, 90 * time.Minute}, {"a short one", time.Second, time.Second}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memory.New(memory.Options{}).Ports().Ledger
				if err := l.Append(t.Context(), billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}); err != nil {
					t.Fatal(err)
				}
				if _, err := billing.Hold(t.Context(), l, billing.Request{ID: "r", Owner: "acme", Price: 2, HoldFor: row.holdFor}); err != nil {
					t.Fatal(err)
				}
				for _, step := range []struct {
					wait time.Duration
					want billing.Balance
				}{{row.lasts - 1, billing.Balance{Available: 8, Reserved: 2}}, {1, billing.Balance{Available: 10}}} {
					<-time.After(step.wait)
					b, err := l.Balance(t.Context(), "acme")
					if err != nil {
						t.Fatal(err)
					}
					want(t, "balance", b, step.want)
				}
			})
		})
	}
	if _, err := billing.Hold(t.Context(), newTill(t, 10), billing.Request{ID: "r", Owner: "acme", Price: 1, HoldFor: -1}); err == nil {
		t.Error("a request held for less than no time is allowed")
	}
}

// hung is a ledger that answers no Commit and no Release.
type hung struct{ billing.Ledger }

func (hung) Commit(ctx context.Context, _ string, _ billing.Entry) error {
	<-ctx.Done()
	return ctx.Err()
}
func (hung) Release(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }

// A ledger that does not answer holds up who commits or releases for 5 s.
func TestSettlingIsBounded(t *testing.T) {
	for name, settle := range map[string]func(*billing.Charge) error{
		"Commit":  func(c *billing.Charge) error { return c.Commit(context.Background()) },
		"Release": func(c *billing.Charge) error { return c.Release(context.Background()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := hung{newTill(t, 10)}
			c, err := billing.Hold(t.Context(), l, billing.Request{ID: "r", Owner: "acme", Price: 2})
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if err := settle(c); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 5*time.Second {
				t.Errorf("%s: %v after %s, want a timeout after 5 s", name, err, time.Since(begin))
			}
		})
	}
}
