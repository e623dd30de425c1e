package billing_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// perMinute is a price of one credit a minute.
const perMinute = 1440 * billing.Credit

func TestMinutesOfADayMakeItsPrice(t *testing.T) {
	for _, perDay := range []billing.Credits{1, 1439, 1440, 1441, 100 * billing.Credit, 1667 * billing.Credit, 84_133 * billing.Credit, 1_000_000_000_000_007} {
		t.Run(fmt.Sprint(perDay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.topUp(t, "acme", 3*perDay)
				s.open("m", perDay)
				pass(5*time.Hour + 17*time.Second) // a day of any 1,440 minutes
				stop := s.run(t)
				pass(24*time.Hour - time.Minute)
				stop()
				want(t, "a day's charges", 3*perDay-s.balance(t), perDay)
				least, most := perDay/1440, perDay/1440+1
				for _, e := range s.entries(t, "m") {
					if -e.Amount < least || -e.Amount > most {
						t.Fatalf("a minute costs %d, want %d or %d", -e.Amount, least, most)
					}
				}
			})
		})
	}
}

func TestEntrySaysWhatItIsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 100*billing.Credit)
		s.open("m", perMinute)
		pass(90 * time.Second)
		s.run(t)()
		at := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
		e := s.entries(t, "m")[0]
		e.Balance = 0
		want(t, "entry", e, billing.Entry{ID: billing.ChargeID(billing.KindMonitor, "m", at), Owner: "acme", Kind: billing.KindMonitor,
			Amount: -billing.Credit, At: at, SourceID: "m", SourceName: "name of m", NumAccounts: 3, TierLabel: "1-10", Rate: perMinute / 3})
	})
}

func TestChargeID(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id := billing.ChargeID(billing.KindMonitor, "m", at)
	if id != billing.ChargeID(billing.KindMonitor, "m", at.Add(59*time.Second)) || id != billing.ChargeID(billing.KindMonitor, "m", at.In(time.FixedZone("x", 3600))) {
		t.Error("a minute has one id, whatever the second and the zone")
	}
	for name, other := range map[string]string{
		"kind": billing.ChargeID(billing.KindRule, "m", at), "source": billing.ChargeID(billing.KindMonitor, "n", at),
		"minute": billing.ChargeID(billing.KindMonitor, "m", at.Add(time.Minute)), "before 1970": billing.ChargeID(billing.KindMonitor, "m", time.Unix(-1, 0)),
	} {
		if other == id {
			t.Errorf("another %s has the same id", name)
		}
	}
	if billing.ChargeID("a", "m", time.Unix(-1, 0)) != billing.ChargeID("a", "m", time.Unix(-60, 0)) || billing.ChargeID("a", "m", time.Unix(-1, 0)) == billing.ChargeID("a", "m", time.Unix(0, 0)) {
		t.Error("minutes before 1970 are cut at other places than those after")
	}
}

// Whatever happens to processes and clocks, a minute is charged at most once,
// and none that nobody watched.
func TestMinutesThatAreCharged(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(t *testing.T, s *shop)
		want string
	}{
		{"at the start, and as each minute begins", func(t *testing.T, s *shop) {
			stop := s.run(t)
			pass(2*time.Minute + time.Second)
			stop()
		}, "00:00 00:01 00:02"},
		{"a restart within a minute", func(t *testing.T, s *shop) {
			s.run(t)()
			pass(20 * time.Second)
			s.run(t)()
		}, "00:00"},
		{"nothing for the time between two processes", func(t *testing.T, s *shop) {
			s.run(t)()
			pass(3 * time.Hour)
			s.run(t)()
		}, "00:00 03:00"},
		{"two meters", func(t *testing.T, s *shop) {
			one, two := s.run(t), s.run(t)
			pass(2 * time.Minute)
			one()
			pass(time.Minute)
			two()
		}, "00:00 00:01 00:02 00:03"},
		{"a ledger that fails for a while is made up for", func(t *testing.T, s *shop) {
			stop := s.run(t)
			s.set(func() { s.down = true })
			pass(3*time.Minute + time.Second)
			s.set(func() { s.down = false })
			pass(time.Minute)
			stop()
		}, "00:00 00:01 00:02 00:03 00:04"},
		{"a clock that jumps ahead", func(t *testing.T, s *shop) {
			stop := s.run(t)
			s.set(func() { s.offset = 5 * time.Hour })
			pass(2*time.Minute + time.Second)
			stop()
		}, "00:00 05:01 05:02"},
		{"a clock that jumps ahead after a start late in a minute", func(t *testing.T, s *shop) {
			pass(40 * time.Second)
			stop := s.run(t)
			s.set(func() { s.offset = 5 * time.Hour })
			pass(time.Minute + 21*time.Second)
			stop()
		}, "00:00 05:01 05:02"},
		{"a clock that jumps back", func(t *testing.T, s *shop) {
			stop := s.run(t)
			pass(3*time.Minute + time.Second)
			s.set(func() { s.offset = -3 * time.Minute })
			pass(4 * time.Minute) // shows 00:01 to 00:04 once more
			stop()
		}, "00:00 00:01 00:02 00:03 00:04"},
		{"a clock that jumps back and ahead again", func(t *testing.T, s *shop) {
			stop := s.run(t)
			s.set(func() { s.offset = -3 * time.Hour })
			pass(time.Minute + time.Second)
			s.set(func() { s.offset = 0 })
			pass(time.Minute)
			stop()
		}, "00:00 21:01 00:02"},
		{"a part that is taken from a node that died before a minute", func(t *testing.T, s *shop) {
			gave, took := s.run(t), s.taker(t)
			pass(2*time.Minute + 55*time.Second)
			gave()
			pass(12 * time.Second)
			took(-time.Hour)
			pass(time.Minute)
		}, "00:00 00:01 00:02 00:03 00:04"},
		{"a part that is taken from a node that gave it away", func(t *testing.T, s *shop) {
			gave, took := s.run(t), s.taker(t)
			pass(2*time.Minute + 30*time.Second)
			gave()
			took(-time.Hour)
			pass(time.Minute)
		}, "00:00 00:01 00:02 00:03"},
		{"a part that is taken, with a stream that was resumed meanwhile", func(t *testing.T, s *shop) {
			gave, took := s.run(t), s.taker(t)
			pass(2*time.Minute + 55*time.Second)
			gave()
			pass(12 * time.Second)
			took(-time.Second)
			pass(time.Minute)
		}, "00:00 00:01 00:02 00:04"},
		{"a part that is taken by a node that has just started", func(t *testing.T, s *shop) {
			s.run(t)()
			pass(4*time.Minute + 10*time.Second)
			took := s.taker(t)
			took(-time.Hour)
			pass(time.Minute)
		}, "00:00 00:04 00:05"},
		{"a part that is taken while the clock jumps ahead", func(t *testing.T, s *shop) {
			gave, took := s.run(t), s.taker(t)
			pass(2*time.Minute + 30*time.Second)
			gave()
			s.set(func() { s.offset = 5 * time.Hour })
			took(-time.Hour)
			pass(time.Minute)
		}, "00:00 00:01 00:02 05:02 05:03"},
		{"nothing for a stream that was made within the minute", func(t *testing.T, s *shop) {
			stop := s.run(t)
			pass(time.Second)
			s.open("m2", perMinute)
			s.set(func() { s.streams = s.streams[1:]; s.streams[0].ID = "m" })
			stop()
		}, "00:00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				s.topUp(t, "acme", 10_000*billing.Credit)
				s.open("m", perMinute)
				row.run(t, s)
				want(t, "minutes charged", s.minutes(t, "m"), row.want)
				want(t, "charges", 10_000*billing.Credit-s.balance(t), billing.Credits(len(strings.Fields(row.want)))*billing.Credit)
			})
		})
	}
}

func TestAtMostAnHourIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 10_000*billing.Credit)
		s.open("m", perMinute)
		stop := s.run(t)
		s.set(func() { s.down = true })
		pass(5*time.Hour - time.Second)
		s.set(func() { s.down = false })
		pass(time.Second)
		stop()
		es := s.entries(t, "m")
		want(t, "minutes charged", len(es), 1+61)
		want(t, "first of those made up for", es[1].At.Format("15:04"), "04:00")
		want(t, "last", es[61].At.Format("15:04"), "05:00")
	})
}

// What is paused meanwhile owes nothing for the time it was.
func TestPausedStreamIsNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 10_000*billing.Credit)
		s.open("m", perMinute)
		stop := s.run(t)
		all := s.streams
		s.set(func() { s.streams = nil }) // paused by its owner
		pass(10 * time.Minute)
		s.set(func() { s.streams = all })
		pass(time.Minute)
		stop()
		want(t, "minutes charged", s.minutes(t, "m"), "00:00 00:11")
	})
}

func TestStreamsPauseAndResume(t *testing.T) {
	type step struct {
		topUp   billing.Credits // in credits
		wait    time.Duration
		changes string
	}
	for _, row := range []struct {
		name  string
		open  []billing.Credits // credits a minute, the oldest first: a, b, c …
		steps []step
	}{
		{"covered by exactly an hour it goes on", []billing.Credits{1}, []step{{60, 0, ""}, {0, time.Minute, "pause a"}}},
		{"not covered", []billing.Credits{1}, []step{{59, 0, "pause a"}}},
		{"without credits", []billing.Credits{1}, []step{{0, 0, "pause a"}}},
		{"what is free goes on without", []billing.Credits{0}, []step{{0, time.Hour, ""}}},
		{"the youngest pauses first", []billing.Credits{1, 1, 1}, []step{{122, 0, "pause c"}, {0, 2 * time.Minute, "pause b"}, {0, time.Hour, "pause a"}}},
		{"a cheap one goes on beside an older one that is too dear", []billing.Credits{1, 10, 1}, []step{{130, 0, "pause b"}}},
		{"resumed within a minute after a top-up", []billing.Credits{1}, []step{{0, 0, "pause a"}, {75, time.Minute, "resume a"}, {0, 16 * time.Minute, ""}, {0, time.Minute, "pause a"}}},
		{"a top-up that would not last stays until the next", []billing.Credits{1}, []step{{0, 0, "pause a"}, {74, 3 * time.Hour, ""}, {1, time.Minute, "resume a"}}},
		{"the oldest resumes first", []billing.Credits{1, 1, 1}, []step{{0, 0, "pause a pause b pause c"}, {160, time.Minute, "resume a resume b"}, {500, time.Minute, "resume c"}}},
		{"what runs goes before what is paused", []billing.Credits{10, 1}, []step{{605, 0, "pause b"}, {0, time.Minute, "pause a resume b"}, {200, time.Minute, ""}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				for i, price := range row.open {
					s.open(string(rune('a'+i)), price*perMinute)
				}
				s.topUp(t, "globex", 1) // another's credits help nobody
				var stop func()
				for _, st := range row.steps {
					s.set(func() { s.changes = nil })
					if st.topUp > 0 {
						s.topUp(t, "acme", st.topUp*billing.Credit)
					}
					if stop == nil {
						stop = s.run(t)
					}
					pass(st.wait)
					want(t, fmt.Sprintf("after %d credits and %s", st.topUp, st.wait), strings.Join(s.changes, " "), st.changes)
				}
				stop()
			})
		})
	}
}

// A resumed stream pays from the next minute on, a paused one not at all.
func TestPausedMinutesCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.open("m", perMinute)
		stop := s.run(t)
		pass(10*time.Minute + time.Second)
		s.topUp(t, "acme", 1000*billing.Credit)
		pass(3 * time.Minute)
		stop()
		want(t, "minutes charged", s.minutes(t, "m"), "00:12 00:13")
	})
}

func TestThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 103*billing.Credit)
		s.open("m", perMinute)
		stop := s.run(t, 90*billing.Credit, 100*billing.Credit, 90*billing.Credit)
		for _, row := range []struct {
			topUp billing.Credits
			wait  time.Duration
			told  string
		}{
			{0, time.Minute, ""},                 // 101
			{0, time.Minute, "acme<=100000"},     // 100
			{0, 9 * time.Minute, ""},             // 91
			{0, 5 * time.Minute, "acme<=90000"},  // 86
			{20, 5 * time.Minute, ""},            // 101, above both again
			{0, 2 * time.Minute, "acme<=100000"}, // 99
			{0, 30 * time.Minute, "acme<=90000"}, // 69
			{0, 5 * time.Hour, ""},               // paused
		} {
			s.set(func() { s.told = nil })
			if row.topUp > 0 {
				s.topUp(t, "acme", row.topUp*billing.Credit)
			}
			pass(row.wait)
			want(t, "told", strings.Join(s.told, " "), row.told)
		}
		stop()
	})
}

// spender takes an owner's credits between the meter's look and its charge.
type spender struct {
	*shop
	owner string
}

func (s spender) Append(ctx context.Context, entries ...billing.Entry) error {
	if b, err := s.Ledger.Balance(ctx, s.owner); err == nil && b.Available > 0 {
		s.Ledger.Append(ctx, billing.Entry{ID: "spent", Owner: s.owner, Amount: -b.Available})
	}
	return s.shop.Append(ctx, entries...)
}

func TestWhoSpendsMeanwhileHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 1000*billing.Credit)
		s.topUp(t, "spender", 1000*billing.Credit)
		s.open("m", perMinute)
		s.open("theirs", perMinute)
		s.streams[1].Owner = "spender"
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: spender{s, "spender"}, Streams: s, Now: s.now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go m.Run(ctx)
		pass(time.Minute)
		want(t, "minutes charged to the other", s.minutes(t, "m"), "00:00 00:01")
		want(t, "changes", strings.Join(s.changes, " "), "pause theirs")
	})
}

// Available credits cover the next hour of streams that cost 24 times as much a day together.
func TestCovered(t *testing.T) {
	for _, row := range []struct{ had, held, want billing.Credits }{
		{0, 0, 0},
		{1, 0, 24},
		{60 * billing.Credit, 0, perMinute},
		{61 * billing.Credit, billing.Credit, perMinute},
		{math.MaxInt64 / 24, 0, math.MaxInt64 / 24 * 24},
		{math.MaxInt64, 0, math.MaxInt64 / 24 * 24},
	} {
		s := newShop()
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: s})
		if err != nil {
			t.Fatal(err)
		}
		if row.had > 0 {
			s.topUp(t, "acme", row.had)
		}
		if row.held > 0 {
			if _, err := billing.Hold(t.Context(), s, billing.Request{ID: "r", Owner: "acme", Price: row.held}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.Covered(t.Context(), "acme")
		if err != nil || got != row.want {
			t.Errorf("%d of which %d are held cover %d a day, want %d (%v)", row.had, row.held, got, row.want, err)
		}
	}
}

// Streams that are not resumed for want of credits stay paused, and nothing failed.
func TestResumeThatIsNotCoveredAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 100*billing.Credit)
		s.open("m", perMinute)
		s.streams[0].Paused = true
		var log strings.Builder
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: late{s}, Now: s.now, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		pass(time.Minute)
		cancel()
		<-done
		want(t, "stats", m.Stats(), billing.Stats{Waiting: 1})
		want(t, "log", log.String(), "")
	})
}

// late finds that other streams have taken the credits.
type late struct{ *shop }

func (late) Resume(context.Context, billing.Stream) error { return billing.ErrInsufficient }

func TestNewMeterRefuses(t *testing.T) {
	s := newShop()
	for name, c := range map[string]billing.MeterConfig{
		"no Ledger": {Streams: s}, "no Streams": {Ledger: s}, "mark": {Ledger: s, Streams: s, Thresholds: []billing.Credits{-1}},
	} {
		if _, err := billing.NewMeter(c); err == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}
