package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// rested is a Pacer whose accounts were polled in turn, a second apart from 0
// on, so that the first is due first; their Min is a minute.
func rested(t *testing.T, accounts int) *Pacer {
	t.Helper()
	p := newPacer(t, 1, 0)
	addAll(t, p, accounts, Account{Min: time.Minute})
	for i := range int64(accounts) {
		slot, ok := p.Next(i * second)
		if !ok || slot != int32(i) {
			t.Fatalf("slot %d, %v, want %d", slot, ok, i)
		}
		if _, err := p.Observe(slot, i*second, nil); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestHurry(t *testing.T) {
	const soon, later = 10 * second, 500 * second // within everybody's Min, and after
	for _, tc := range []struct {
		name string
		do   func(p *Pacer)
		now  int64
		want []int32 // of Next, until it gives no more or this ends
	}{
		{"nobody: all are within their Min", func(*Pacer) {}, soon, nil},
		{"nobody: by due time", func(*Pacer) {}, later, []int32{0, 1, 2, 3}},
		{"within its Min", func(p *Pacer) { p.Hurry(2, soon) }, soon, []int32{2}},
		{"before those long due", func(p *Pacer) { p.Hurry(3, later) }, later, []int32{3, 0, 1, 2}},
		{"those hurried earlier first", func(p *Pacer) { p.Hurry(3, soon); p.Hurry(1, later) }, later, []int32{3, 1, 0, 2}},
		{"twice keeps the first place", func(p *Pacer) { p.Hurry(3, soon); p.Hurry(1, soon+second); p.Hurry(3, later) }, later, []int32{3, 1, 0, 2}},
		{"once ready", func(p *Pacer) { p.Next(later); p.Hurry(2, later) }, later, []int32{2, 1, 3}},
		{"while polled: nothing", func(p *Pacer) { p.Next(later); p.Hurry(0, later); p.Observe(0, later, nil) }, later, []int32{1, 2, 3}},
		{"not within a back-off", func(p *Pacer) { fail(p, later, 2*later); p.Hurry(0, later) }, later, []int32{1, 2, 3}},
		{"first after a back-off", func(p *Pacer) { fail(p, later, 2*later); p.Hurry(0, later) }, 2 * later, []int32{0, 1, 2, 3}},
		{"a lower Max does not forget it", func(p *Pacer) {
			p.accounts[3].planned = shorten(1000)
			p.Hurry(3, soon)
			p.Update(3, Account{Max: time.Minute})
		}, later, []int32{3, 0, 1, 2}},
		{"for one poll only", func(p *Pacer) { p.Hurry(3, soon); p.Next(soon); p.Observe(3, soon, nil) }, later, []int32{0, 1, 2, 3}},
		{"where the turn is later than the plan, as planned", func(p *Pacer) {
			p.order.lastTurn = later + 100*second
			p.Hurry(2, later)
			p.Hurry(0, later)
		}, later, []int32{0, 1, 2, 3}},
		{"a lower Max comes before the turn", func(p *Pacer) {
			p.order.lastTurn = soon + 4*second
			p.accounts[3].planned = shorten(1000)
			p.order.rest(3, later)
			p.wake(later)
			p.order.lastTurn = later
			p.Hurry(3, later)
			p.Update(3, Account{Max: time.Minute})
		}, later, []int32{0, 1, 2, 3}},
		{"alarmed while it waits for its turn", func(p *Pacer) {
			p.order.lastTurn = soon
			p.Hurry(3, soon)
			p.Alarm(3, soon)
		}, soon, []int32{3}},
		{"alarmed twice keeps the first place", func(p *Pacer) { p.Alarm(3, soon); p.Alarm(1, soon+second); p.Alarm(3, later) }, later, []int32{3, 1, 0, 2}},
		{"alarmed within a back-off", func(p *Pacer) {
			fail(p, later, 2*later)
			p.Hurry(0, later)
			p.Alarm(0, later)
			p.order.lastTurn = 3 * later
		}, 2 * later, []int32{0, 1, 2, 3}},
		{"slot not in use", func(p *Pacer) { p.Hurry(9, soon); p.Alarm(-1, soon); p.Fail(9, soon) }, soon, nil},
	} {
		p := rested(t, 4)
		tc.do(p)
		var got []int32
		for slot, ok := p.Next(tc.now); ok; slot, ok = p.Next(tc.now) {
			got = append(got, slot)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: order %v, want %v", tc.name, got, tc.want)
		}
	}
}

// When an account may be polled, and when one is due: before any is, while one rests, and late.
func TestNextTimes(t *testing.T) {
	const never = math.MaxInt64
	for _, tc := range []struct {
		name      string
		do        func(p *Pacer)
		now       int64
		next, due int64 // at most; never for none
	}{
		{"all within their Min", func(*Pacer) {}, 10 * second, 61 * second, 61 * second},
		{"one is late", func(*Pacer) {}, 500 * second, 0, 500 * second},
		{"one is hurried", func(p *Pacer) { p.Hurry(2, 10*second) }, 10 * second, 10 * second, 10 * second},
		{"one backs off", func(p *Pacer) {
			p.Next(500 * second)
			p.Next(500 * second)
			p.Remove(2)
			p.Remove(3)
			p.Fail(0, 700*second)
		}, 500 * second, 700 * second, 700 * second},
		{"all are polled", func(p *Pacer) {
			for range 4 {
				p.Next(500 * second)
			}
		}, 500 * second, never, never},
	} {
		p := rested(t, 4)
		tc.do(p)
		due, dueOK := p.DueAt(tc.now) // takes up those whose rest is over
		next, ok := p.NextAt()
		if ok != (tc.next != never) || dueOK != ok || next > tc.next || due > tc.due || ok && tc.next > tc.now && (next < tc.next-second || due < tc.due-second) {
			t.Errorf("%s: may be polled at %d, %t, due at %d, %t; want %d and %d", tc.name, next/second, ok, due/second, dueOK, tc.next/second, tc.due/second)
		}
	}
}

func fail(p *Pacer, now, until int64) {
	slot, _ := p.Next(now)
	p.Fail(slot, until)
}

// Accounts that are resumed have places within two equal shares of when they were paced
// last, however often that happens, and before their Max ends.
func TestResume(t *testing.T) {
	const accounts, budget = 100, 2
	p := newPacer(t, budget, 0)
	for _, tc := range []struct {
		name       string
		now, until int64
		max        time.Duration
		within     int64 // of until, or now if that is earlier
	}{
		{"after a start", 0, 0, 0, 2 * accounts / budget * second},
		{"again", 10 * second, 10 * second, 0, 2 * accounts / budget * second},
		{"and again", 20 * second, 20 * second, 0, 2 * accounts / budget * second},
		{"paced until a while ago", 500 * second, 470 * second, 0, 2 * accounts / budget * second},
		{"paced until a time to come", 1000 * second, 2000 * second, 0, 2 * accounts / budget * second},
		{"of a short Max", 5000 * second, 4990 * second, 20 * time.Second, 20 * second},
	} {
		var places []int64
		for slot := range int32(accounts) {
			p.Remove(slot)
			if err := p.Resume(slot, tc.now, tc.until, Account{Max: tc.max}); err != nil {
				t.Fatal(err)
			}
			at, _ := p.order.ready.At(slot)
			places = append(places, at-min(tc.until, tc.now))
		}
		if latest := slices.Max(places); latest > tc.within || latest < tc.within/2 {
			t.Errorf("%s: the last is due after %d s, want %d at most, and no less than half of it", tc.name, latest/second, tc.within/second)
		}
		if slices.Sort(places); tc.max == 0 && len(slices.Compact(places)) < accounts {
			t.Errorf("%s: accounts have the same place: %v", tc.name, places)
		}
	}
	if err := p.Resume(0, 0, 0, Account{}); err == nil {
		t.Error("a slot that is taken is resumed")
	}
}

// Whatever happens, an account is never due later for being hurried, nothing but its
// turn, its plan or its Max decides, and none is lost.
func TestHurryPostponesNothing(t *testing.T) {
	const accounts = 40
	rng := rand.New(rand.NewPCG(23, 24))
	p := newPacer(t, 1, accounts)
	polled := map[int32]bool{}
	waits := func(slot int32) int64 {
		at := int64(math.MaxInt64)
		for _, q := range []*due.Queue{&p.order.ready, &p.order.overdue, &p.order.resting} {
			if t, ok := q.At(slot); ok && (q != &p.order.resting || p.accounts[slot].status == hurried) {
				at = min(at, t)
			}
		}
		if at == math.MaxInt64 { // it rests, or is being polled
			return ceil(p.due(&p.accounts[slot]))
		}
		return at
	}
	for now, step := int64(0), 0; step < 50_000; step++ {
		now += rng.Int64N(2 * second)
		slot := int32(rng.IntN(accounts))
		before := waits(slot)
		switch op := rng.IntN(8); op {
		case 0, 1:
			if p.Hurry(slot, now); !polled[slot] && waits(slot) > before {
				t.Fatalf("step %d: hurried, an account is due at %d, want %d at most", step, waits(slot), before)
			}
		case 2:
			if p.Alarm(slot, now); !polled[slot] && waits(slot) > before {
				t.Fatalf("step %d: alarmed, an account is due at %d, want %d at most", step, waits(slot), before)
			}
		case 3:
			p.Update(slot, Account{Max: time.Duration(5+rng.IntN(200)) * time.Second})
			if ends := ceil(p.deadline(slot, &p.accounts[slot])); p.accounts[slot].planned > 0 && p.order.ready.Has(slot) && waits(slot) > ends {
				t.Fatalf("step %d: an account of a lower Max is due at %d, want %d at most", step, waits(slot), ends)
			}
		case 4:
			for slot := range int32(accounts) {
				switch {
				case !polled[slot]:
					continue
				case rng.IntN(3) == 0:
					p.Fail(slot, now+rng.Int64N(60*second))
				default:
					if _, err := p.Observe(slot, now, []int64{now}[:rng.IntN(2)]); err != nil {
						t.Fatal(err)
					}
				}
				delete(polled, slot)
			}
		default:
			if slot, ok := p.Next(now); ok {
				polled[slot] = true
			}
		}
		for slot := range int32(accounts) {
			o, s := &p.order, &p.accounts[slot]
			if o.has(slot) == polled[slot] {
				t.Fatalf("step %d: slot %d waits %v, and is being polled %v", step, slot, o.has(slot), polled[slot])
			}
			if o.resting.Has(slot) && (o.ready.Has(slot) || o.overdue.Has(slot)) && s.status != hurried || o.ready.Has(slot) && o.overdue.Has(slot) {
				t.Fatalf("step %d: slot %d of status %d is in two queues", step, slot, s.status)
			}
		}
	}
}

// Who asks for shorter intervals need not wait for the end of the old shortest one, unless
// the account backs off or waits for its turn.
func TestUpdateShortensTheRest(t *testing.T) {
	const hour = 3600 * second
	p := newPacer(t, 1, 0)
	bounds := Account{Min: 6 * time.Hour, Max: 6 * time.Hour}
	addAll(t, p, 2, bounds)
	for range 2 {
		pollOne(t, p, hour)
	}
	const min = 60 * second // and a little more: bounds are kept with nine bits
	within := func(at, want int64) bool { return at >= want && at < want+want/100 }
	if at, ok := p.NextAt(); !ok || !within(at-hour, 6*hour) {
		t.Fatalf("the next poll is at %d s, %t, want the end of Min at %d", at/second, ok, 7*hour/second)
	}
	for slot := range int32(2) {
		if err := p.Update(slot, Account{Min: time.Minute, Max: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	if at, ok := p.NextAt(); !ok || !within(at-hour, min) {
		t.Errorf("the next poll is at %d s, %t, want the end of the new Min at %d", at/second, ok, (hour+min)/second)
	}
	if at, ok := p.DueAt(hour + 2*min); !ok || at > hour+10*min {
		t.Errorf("an account is due at %d s, %t, want the end of the new Max at %d", at/second, ok, (hour+10*min)/second)
	}
	slot, _ := p.Next(hour + 10*min)
	p.Fail(slot, 3*hour)
	if err := p.Update(slot, Account{Min: time.Second, Max: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if at, ok := p.order.resting.At(slot); !ok || at != 3*hour {
		t.Errorf("the back-off ends at %d s, %t, want %d", at/second, ok, 3*hour/second)
	}
}
