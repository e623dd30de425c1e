package pace

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"
)

const second = int64(time.Second)

func newPacer(t testing.TB, budget float64, accounts int) *Pacer {
	t.Helper()
	p, err := New(budget)
	if err != nil {
		t.Fatal(err)
	}
	addAll(t, p, accounts, Account{})
	return p
}

// addAll adds so many accounts that ask for a.
func addAll(t testing.TB, p *Pacer, accounts int, a Account) {
	t.Helper()
	for i := range accounts {
		if err := p.Add(int32(i), 0, a); err != nil {
			t.Fatal(err)
		}
	}
}

// pollFor makes polls at the budget until the end. found is told of each, and of the account's last
// one, and gives its posts. Times are in seconds.
func pollFor(t testing.TB, p *Pacer, end float64, found func(slot int32, last, now float64) []int64) {
	t.Helper()
	last := make([]float64, len(p.accounts))
	for k := 0.0; k/p.bounds.budget < end; k++ {
		now := k / p.bounds.budget
		slot, ok := p.Next(int64(now * 1e9))
		if !ok {
			continue
		}
		posts := found(slot, last[slot], now)
		last[slot] = now
		if _, err := p.Observe(slot, int64(now*1e9), posts); err != nil {
			t.Fatal(err)
		}
	}
}

// poisson posts independently, at rates in posts a second. It gives an account's new posts.
func poisson(rng *rand.Rand, rates []float64) func(slot int32, now float64) []int64 {
	next := make([]float64, len(rates))
	for i, rate := range rates {
		next[i] = rng.ExpFloat64() / rate
	}
	return func(slot int32, now float64) (found []int64) {
		for ; next[slot] <= now; next[slot] += rng.ExpFloat64() / rates[slot] {
			found = append(found, int64(next[slot]*1e9))
		}
		return found
	}
}

// gaps are the times between polls. As Poisson posts are as likely at any time, their mean delay is
// that of the gaps, without the chance of a few posts.
type gaps struct{ squares, sum float64 }

func (g *gaps) add(gap float64) { g.squares, g.sum = g.squares+gap*gap, g.sum+gap }

func TestNotAllowed(t *testing.T) {
	add := func(slot int32, a Account) error { return newPacer(t, 1, 1).Add(slot, 0, a) }
	made := func(budget float64) error { _, err := New(budget); return err }
	observed := func(slot int32) error {
		_, err := newPacer(t, 1, 1).Observe(slot, 0, nil)
		return err
	}
	history := func(slot int32, since int64) error {
		_, err := newPacer(t, 1, 1).History(slot, 0, since, nil)
		return err
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"no budget", made(0), "budget 0 is not allowed"},
		{"no number", made(math.NaN()), "budget NaN is not allowed"},
		{"slot taken", add(0, Account{}), "slot 0 is taken"},
		{"negative slot", add(-1, Account{}), "slot -1 is not allowed"},
		{"slot beyond the queue", add(1<<24, Account{}), "slot 16777216 is not allowed: want 0 to 16777215"},
		{"no live budget", newPacer(t, 1, 1).SetBudget(0), "budget 0 is not allowed"},
		{"negative weight", add(1, Account{Weight: -1}), "Account.Weight -1 is not allowed"},
		{"negative min", add(1, Account{Min: -1}), "Account.Min -1ns is not allowed"},
		{"max below min", add(1, Account{Min: time.Minute, Max: time.Second}), "Account.Max 1s is not allowed"},
		{"max below the default min", add(1, Account{Max: time.Millisecond}), "Account.Max 1ms is not allowed: want 0, or at least the Min 1s"},
		{"unknown slot", observed(7), "slot 7 is not in use"},
		{"history of an unknown slot", history(7, 0), "slot 7 is not in use"},
		{"history of the future", history(0, 1), "history since 1 is not allowed"},
		{"update to a negative min", newPacer(t, 1, 1).Update(0, Account{Min: -1}), "Account.Min -1ns is not allowed"},
		{"update of an unknown slot", newPacer(t, 1, 0).Update(0, Account{}), "slot 0 is not in use"},
	} {
		if tc.err == nil || !strings.HasPrefix(tc.err.Error(), "pace: ") || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, tc.err, tc.want)
		}
	}
}

func TestStateSize(t *testing.T) {
	if got := unsafe.Sizeof(state{}); got != 48 {
		t.Errorf("state of %d bytes, want 48", got)
	}
	if BytesPerAccount > 68 {
		t.Errorf("%d bytes an account in all, want at most 68", BytesPerAccount)
	}
}

func TestDecisionAllocatesNothing(t *testing.T) {
	p := newPacer(t, 10, 1000)
	now, times := int64(0), make([]int64, 1)
	if got := testing.AllocsPerRun(5000, func() {
		now += second / 10
		times[0] = now - second
		if slot, ok := p.Next(now); ok {
			if _, err := p.Observe(slot, now, times[:slot%2]); err != nil {
				t.Fatal(err)
			}
		}
	}); got != 0 {
		t.Errorf("%g allocations a decision, want 0", got)
	}
}

// Under random operations Next gives what a plain search over all accounts
// would, and every plan keeps its bounds.
func TestNextAgainstModel(t *testing.T) {
	type entry struct {
		from, due int64 // may be polled from, planned for
		a         Account
		first     int64 // goes first from then on; never for not at all
	}
	const never = math.MaxInt64
	rng := rand.New(rand.NewPCG(5, 6))
	p := newPacer(t, 1, 0)
	model := map[int32]entry{}
	now, place, turn := int64(0), int64(0), int64(0) // of the first poll of the account added last, and of the one hurried last
	random := func() Account {
		return Account{Weight: rng.Float64() * 4, Min: time.Duration(rng.IntN(20)) * time.Second,
			Max: []time.Duration{200 * time.Second, time.Duration(20+rng.IntN(80)) * time.Second}[rng.IntN(2)]}
	}
	for step := range 30_000 {
		now += rng.Int64N(2 * second)
		slot := int32(rng.IntN(60))
		_, known := model[slot]
		switch op := rng.IntN(20); {
		case op == 0:
			a := random()
			if err := p.Add(slot, now, a); (err == nil) == known {
				t.Fatalf("step %d: Add(%d) error %v, taken %v", step, slot, err, known)
			}
			if !known {
				place = max(now, place+2*second) // half of a call a second
				if place > now+2*int64(p.bounds.n)*second {
					place = now
				}
				e := entry{due: place, a: a, first: never} // may be polled at once
				if place == now {
					turn = max(now, turn+4*second)
					e.first = turn
				}
				model[slot] = e
			}
			continue
		case op == 1 && rng.IntN(2) == 0:
			p.Remove(slot)
			delete(model, slot)
			continue
		}
		// Those whose turn has come go first, then those late by patience, by the end of
		// their Max.
		best, bestDue, bestLate := int32(-1), int64(math.MaxInt64), false
		first := int64(never)
		for s, e := range model {
			if e.first <= now && ceil(e.first) < first {
				best, first = s, ceil(e.first)
			}
		}
		late := now - int64(patience*float64(len(model))*1e9)
		for s, e := range model {
			if first != never || ceil(e.from) > now {
				continue
			}
			isLate, due := ceil(e.due) <= late, ceil(e.due)
			if isLate {
				due = ceil(p.deadline(s, &p.accounts[s]))
			}
			if isLate && !bestLate || isLate == bestLate && due < bestDue {
				best, bestDue, bestLate = s, due, isLate
			}
		}
		got, ok := p.Next(now)
		if ok != (best >= 0) {
			t.Fatalf("step %d: Next ok = %v, want %v", step, ok, best >= 0)
		}
		if !ok {
			continue
		}
		e := model[got]
		if first != never && ceil(e.first) != first {
			t.Fatalf("step %d: slot %d goes first from %d on, want one from %d on", step, got, e.first, first)
		}
		gotDue := ceil(e.due)
		if first != never {
			bestLate, bestDue = gotDue <= late, gotDue
		} else if bestLate {
			gotDue = ceil(p.deadline(got, &p.accounts[got]))
		}
		if e.from > now || bestLate != (ceil(e.due) <= late) || gotDue != bestDue {
			t.Fatalf("step %d: slot %d due %d, may be polled in %d, want one due %d", step, got, e.due, e.from-now, bestDue)
		}
		if rng.IntN(10) == 0 {
			until := now + rng.Int64N(60*second)
			p.Fail(got, until)
			e.from = until
			e.due = max(p.due(&p.accounts[got]), 0)
			e.first = never
			model[got] = e
			continue
		}
		due, err := p.Observe(got, now, []int64{now - second/2, now - second}[:rng.IntN(3)])
		if err != nil {
			t.Fatal(err)
		}
		least, most := e.a.Min, e.a.Max
		if least == 0 {
			least = time.Second
		}
		if every := time.Duration(due - now); every < least-time.Microsecond || every > most+time.Millisecond {
			t.Fatalf("step %d: interval %s, want %s to %s", step, every, least, most)
		}
		model[got] = entry{from: now + int64(least), due: due, a: e.a, first: never}
	}
}

// ceil rounds a time up to the millisecond, as package due does.
func ceil(at int64) int64 {
	const ms = int64(time.Millisecond)
	return (at + ms - 1) / ms * ms
}

func TestFailTeachesNothing(t *testing.T) {
	p := newPacer(t, 1, 2)
	for now := int64(0); now < 100*second; now += second {
		if slot, ok := p.Next(now); ok {
			p.Observe(slot, now, []int64{now})
		}
	}
	slot, _ := p.Next(200 * second)
	before, price := p.accounts[slot], p.price.ln
	p.Fail(slot, 5000*second)
	other, _ := p.Next(300 * second)
	if other == slot {
		t.Fatalf("slot %d is given during its back-off", slot)
	}
	p.Remove(other)
	price += math.Log(0.5) / exponent // one account where there were two
	if at, ok := p.NextAt(); !ok || at != 5000*second {
		t.Errorf("NextAt %d, %v, want the end of the back-off", at, ok)
	}
	after := p.accounts[slot]
	after.status = before.status
	if after != before {
		t.Errorf("state %+v, want %+v as before", after, before)
	}
	if again, ok := p.Next(5000 * second); !ok || again != slot {
		t.Fatalf("after the back-off slot %d, %v, want %d", again, ok, slot)
	}
	p.Observe(slot, 5000*second, nil)
	p.Hurry(slot, 5001*second) // nor does an early poll that somebody asked for
	p.Next(5001 * second)
	p.Observe(slot, 5001*second, []int64{5000 * second})
	if p.price.ln != price {
		t.Errorf("price %g after a failure's long gap, want %g as before", p.price.ln, price)
	}
}

func TestDemand(t *testing.T) {
	p := newPacer(t, 1, 100)
	if got, want := p.Demand(), 1/defaultCeiling; math.Abs(got-want) > 1e-9 {
		t.Errorf("default bounds demand %g requests/s, want %g", got, want)
	}
	for i := range int32(100) {
		if err := p.Update(i, Account{Max: 50 * time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Demand(); math.Abs(got-2) > 1e-6 {
		t.Errorf("100 accounts at least every 50 s demand %g requests/s, want 2, above the budget of 1", got)
	}
	for i := range int32(100) {
		p.Remove(i)
	}
	if got := p.Demand(); got != 0 {
		t.Errorf("no accounts demand %g, want 0", got)
	}
}

// A page of history teaches a rate at once.
func TestHistory(t *testing.T) {
	const now = 1_700_000_000 * second
	p := newPacer(t, 1, 0)
	addAll(t, p, 3, Account{Max: 1000 * time.Hour})
	dues := make([]int64, 3)
	for range dues {
		slot, _ := p.Next(now)
		var times []int64
		since := int64(math.MinInt64) // slot 0: complete, and silent
		if slot > 0 {
			every := []int64{0, 6 * 3600, 600}[slot] * second
			for k := range int64(20) {
				times = append(times, now-k*every)
			}
			since = times[19]
		}
		due, err := p.History(slot, now, since, times)
		if err != nil {
			t.Fatal(err)
		}
		dues[slot] = due - now
	}
	if !(dues[2] < dues[1] && dues[1] < dues[0]) {
		t.Errorf("intervals %v for silent, slow and busy: want falling", dues)
	}
}
