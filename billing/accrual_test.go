package billing_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// A minute lasts from its first to its last nanosecond, whatever the time zone, also
// before 1970.
func TestChargeIDOfAMinute(t *testing.T) {
	id := func(at time.Time) string { return billing.ChargeID(billing.KindRule, "r", at) }
	for _, begin := range []time.Time{
		time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC),
		time.Unix(0, 0), time.Unix(-60, 0), time.Date(1900, 2, 28, 23, 59, 0, 0, time.UTC),
	} {
		for _, within := range []time.Duration{1, 29 * time.Second, 59 * time.Second, 59500 * time.Millisecond, time.Minute - 1} {
			want(t, begin.Add(within).String(), id(begin.Add(within)), id(begin))
			want(t, "elsewhere", id(begin.Add(within).In(time.FixedZone("Chatham", 12*3600+45*60))), id(begin))
		}
		if id(begin.Add(time.Minute)) == id(begin) || id(begin.Add(-1)) == id(begin) {
			t.Errorf("%s: the minutes beside it have its id", begin)
		}
	}
	at := time.Unix(0, 0)
	if id(at) == billing.ChargeID(billing.KindMonitor, "r", at) || id(at) == billing.ChargeID(billing.KindRule, "s", at) {
		t.Error("other streams have its id")
	}
}

// A monitor of 1,000 accounts for 20 days, or 400 in a long run, while processes
// come and go, often two at a time, and the clock is set: every tick is charged
// once. A monitor of one account each would be 576 million entries, more than
// memory holds: TestEveryMinuteOfManyStreamsOnce keeps a bit for each.
func TestManyDays(t *testing.T) {
	days := testsize.Of(8, 20, 400) // 400 are half a million ticks
	price := billing.Presets{}.Monitor(1000).PerDay
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		had := price * billing.Credits(days+40)
		s.topUp(t, "acme", had)
		s.open("m", price)
		rnd := rand.New(rand.NewPCG(3, 4))
		// The model: the minutes of the wall clock at which a meter ticked.
		charged := map[int64]bool{}
		wall := func() int64 { return s.now().Unix() / 60 }
		var stops []func()
		start := func() {
			stops = append(stops, s.run(t))
			charged[wall()] = true
		}
		restarts, jumps := 0, 0
		for begin := time.Now(); time.Since(begin) < time.Duration(days)*24*time.Hour; {
			switch n := rnd.IntN(10); {
			case len(stops) == 0 || len(stops) == 1 && n == 0:
				start()
			case n == 1:
				stops[0]()
				stops = stops[1:]
				restarts++
			case n == 2: // by whole minutes, so that ticks stay where minutes begin
				s.set(func() { s.offset += time.Duration(rnd.IntN(2*300)-300) * time.Minute })
				jumps++
			}
			if len(stops) == 0 {
				<-time.After(time.Duration(rnd.IntN(7200)) * time.Second)
				continue
			}
			from, lasts := wall(), time.Duration(rnd.IntN(6*3600))*time.Second
			// Between moments at which a minute begins: there nobody knows who is first.
			if to := s.now().Add(lasts); to.Second() == 0 {
				lasts += time.Second
			}
			pass(lasts)
			for m := from + 1; m <= wall(); m++ {
				charged[m] = true
			}
		}
		for _, stop := range stops {
			stop()
		}
		var owed billing.Credits
		for m := range charged {
			i := billing.Credits(m % 1440)
			owed += price*(i+1)/1440 - price*i/1440
		}
		p, err := s.Entries(t.Context(), billing.EntryQuery{Owner: "acme", SourceID: "m", PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "entries", p.Total, len(charged))
		want(t, "charges", had-s.balance(t), owed)
		if restarts < days/4 || jumps < days/4 || len(charged) < days*1440/2 {
			t.Errorf("too quiet a run: %d restarts, %d jumps, %d ticks", restarts, jumps, len(charged))
		}
		t.Logf("%d days: %d restarts, %d jumps of the clock, %d ticks", days, restarts, jumps, len(charged))
	})
}

// 1,000 streams of 100 owners, and a ledger that fails every other quarter of an
// hour: every minute is charged in the end.
func TestManyStreams(t *testing.T) {
	const hours = 3
	streams := testsize.Of(100, 200, 1000)
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		for i := range streams {
			s.open(string(rune('a'+i%26))+time.Duration(i).String(), 1441)
			s.streams[i].Owner = time.Duration(i % 100).String()
		}
		for i := range 100 {
			s.topUp(t, time.Duration(i).String(), 1_000_000)
		}
		stop := s.run(t)
		for i := range hours * 4 {
			s.set(func() { s.down = i%2 == 0 })
			pass(15 * time.Minute)
		}
		stop()
		total := 0
		for i := range 100 {
			p, err := s.Entries(t.Context(), billing.EntryQuery{Owner: time.Duration(i).String(), PageSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			total += p.Total - 1
		}
		want(t, "entries", total, streams*(hours*60+1))
	})
}
