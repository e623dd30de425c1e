package pace

import (
	"slices"
	"testing"
	"time"
)

// rested is a Pacer whose accounts were polled in turn, a second apart from 0
// on, so that the first is due first; their Min is a minute.
func rested(t *testing.T, accounts int) *Pacer {
	t.Helper()
	p := newPacer(t, Config{Budget: 1, Floor: time.Minute}, accounts)
	for i := range int64(accounts) {
		slot, ok := p.Next(i * second)
		if !ok || slot != int32(i) {
			t.Fatalf("slot %d, %v, want %d", slot, ok, i)
		}
		if _, err := p.Observe(slot, i*second, 0); err != nil {
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
		{"while polled: nothing", func(p *Pacer) { p.Next(later); p.Hurry(0, later); p.Observe(0, later, 0) }, later, []int32{1, 2, 3}},
		{"not within a back-off", func(p *Pacer) { fail(p, later, 2*later); p.Hurry(0, later) }, later, []int32{1, 2, 3}},
		{"first after a back-off", func(p *Pacer) { fail(p, later, 2*later); p.Hurry(0, later) }, 2 * later, []int32{0, 1, 2, 3}},
		{"a failure does not forget it", func(p *Pacer) { p.Hurry(3, soon); fail(p, soon, later) }, later, []int32{3, 0, 1, 2}},
		{"a lower Max does not forget it", func(p *Pacer) {
			p.accounts[3].planned = shorten(1000)
			p.Hurry(3, soon)
			p.Update(3, Account{Max: time.Minute})
		}, later, []int32{3, 0, 1, 2}},
		{"for one poll only", func(p *Pacer) { p.Hurry(3, soon); p.Next(soon); p.Observe(3, soon, 0) }, later, []int32{0, 1, 2, 3}},
		{"slot not in use", func(p *Pacer) { p.Hurry(9, soon); p.Hurry(-1, soon) }, soon, nil},
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

func fail(p *Pacer, now, until int64) {
	slot, _ := p.Next(now)
	p.Fail(slot, until)
}

// An early poll that somebody asked for says nothing of the price.
func TestHurryTeachesNoPrice(t *testing.T) {
	p := rested(t, 4)
	before := p.price
	p.Hurry(2, 10*second)
	slot, _ := p.Next(10 * second)
	if _, err := p.Observe(slot, 10*second, 1); err != nil {
		t.Fatal(err)
	}
	if p.price != before {
		t.Errorf("price %g, want %g as before", p.price, before)
	}
}

func TestNextBatch(t *testing.T) {
	p := rested(t, 5)
	p.Hurry(3, 500*second)
	buf := make([]int32, 1, 3)
	first := p.NextBatch(500*second, buf)
	if want := []int32{3, 0, 1}; !slices.Equal(first, want) || &first[0] != &buf[0] {
		t.Errorf("batch %v, want %v in the buffer given", first, want)
	}
	if rest := p.NextBatch(500*second, make([]int32, 0, 3)); !slices.Equal(rest, []int32{2, 4}) {
		t.Errorf("batch %v, want the two that are left", rest)
	}
	if none := p.NextBatch(500*second, buf); len(none) != 0 {
		t.Errorf("batch %v, want none: all are being polled", none)
	}
}

func TestLongestGap(t *testing.T) {
	p := rested(t, 4) // polled at 0, 1, 2 and 3 s
	if err := p.Update(3, Account{Max: 80 * time.Second}); err != nil {
		t.Fatal(err)
	}
	gap, share := p.LongestGap(63 * second)
	if gap != 63*time.Second || share != 63.0/60 { // the default Max, 2.2 × 4 s, is below the Min of 60 s
		t.Errorf("gap %s, share %g of the bound, want 63 s and 1.05", gap, share)
	}
	fail(p, 63*second, 500*second)
	if gap, _ := p.LongestGap(103 * second); gap != 103*time.Second {
		t.Errorf("gap %s, want 103 s: a failure is no poll", gap)
	}
	for i := range int32(3) {
		p.Remove(i)
	}
	if gap, share = p.LongestGap(103 * second); gap != 100*time.Second || share != 1.25 {
		t.Errorf("gap %s, share %g of the bound, want 100 s of 80 s", gap, share)
	}
}
