package pace

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// crowdedOut is the mean delay, as a multiple of the fixed interval's, of the
// accounts of ordinary owners that post independently, while the first of them
// belong to one owner, ask for a and post after every poll if greedy is set. The
// first two days are for learning.
func crowdedOut(t *testing.T, surplus float64, accounts, theirs int, greedy bool, a Account) float64 {
	t.Helper()
	const share = 300.0
	days := float64(testsize.Of(3, 4, 5))
	budget := float64(accounts) / share
	p := newPacer(t, budget, 0)
	p.owners.surplus = surplus
	for i := range accounts {
		ask := Account{Owner: "others"}
		if i < theirs {
			ask = a
		}
		if err := p.Resume(int32(i), 0, 0, ask); err != nil { // as at a start
			t.Fatal(err)
		}
	}
	var g gaps
	posts := poisson(rand.New(rand.NewPCG(19, 20)), equal(accounts, 10))
	pollFor(t, p, days*day, func(slot int32, last, now float64) []int64 {
		found := posts(slot, now)
		switch {
		case int(slot) < theirs && greedy:
			return []int64{int64((last + now) / 2 * 1e9)}
		case int(slot) >= theirs && now > 2*day:
			g.add(now - last)
		}
		return found
	})
	return g.squares / g.sum / share
}

// However an owner's accounts draw the budget, the others pay for it with no more
// than a quarter of their delay; and without the cap with much more.
func TestOwnerSurplus(t *testing.T) {
	n := testsize.Of(60, 100, 200)
	for _, tc := range []struct {
		name   string
		theirs int // of 200
		greedy bool
		a      Account
	}{
		{"a tenth that posts after every poll", 20, true, Account{}},
		{"a quarter that posts after every poll", 50, true, Account{}},
		{"a tenth with a high Weight", 20, false, Account{Weight: 1e6}},
		{"a tenth with a short Max", 20, false, Account{Max: 30 * time.Second}},
		{"two accounts with a short Max", 2, false, Account{Max: 2 * time.Second}},
		{"a tenth with all of it", 20, true, Account{Weight: 1e6, Max: 30 * time.Second}},
	} {
		tc.a.Owner = "greedy"
		theirs := max(1, tc.theirs*n/200)
		mean := crowdedOut(t, ownerSurplus, n, theirs, tc.greedy, tc.a)
		uncapped := crowdedOut(t, 1, n, theirs, tc.greedy, tc.a)
		t.Logf("%s: others' mean %.3f of a fixed interval's, %.3f without the cap", tc.name, mean, uncapped)
		if mean > 1.25 {
			t.Errorf("%s: others' mean %.3f of a fixed interval's, want at most 1.25", tc.name, mean)
		}
		if uncapped < 1.5 {
			t.Errorf("%s: others' mean %.3f without the cap, want at least 1.5: else this tells nothing", tc.name, uncapped)
		}
	}
}

// Where others leave most of the budget, an owner draws it, and its cap is there
// when they need it.
func TestOwnerDrawsWhatIsLeft(t *testing.T) {
	const n = 100
	p, err := New(n / 300.0)
	if err != nil {
		t.Fatal(err)
	}
	for slot := range int32(n) {
		a := Account{Owner: "idle", Min: 3 * time.Hour, Max: 4 * time.Hour}
		if slot < 10 {
			a = Account{Owner: "busy", Max: 35 * time.Second}
		}
		if err := p.Add(slot, 0, a); err != nil {
			t.Fatal(err)
		}
	}
	polls := 0
	pollFor(t, p, day, func(slot int32, _, now float64) []int64 {
		if slot < 10 && now > day/2 {
			polls++
		}
		return nil
	})
	if got := float64(polls) / (day / 2 / 3); got < 0.9 {
		t.Errorf("an owner draws %.2f of a budget that nobody else can use, want at least 0.9", got)
	}
}

// Owners come and go with their accounts, and change with an account's.
func TestOwners(t *testing.T) {
	p, err := New(1)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for slot := range int32(len(p.accounts)) {
			if p.Has(slot) {
				got[p.owners.of(slot).name]++
			}
		}
		for name, index := range p.owners.index {
			if o := p.owners.list[index]; o.name != name || o.accounts != want[name] || got[name] != want[name] {
				t.Errorf("owner %q has %d accounts and %d slots in entry %+v, want %d", name, o.accounts, got[name], o, want[name])
			}
		}
		if len(p.owners.index) != len(want) {
			t.Errorf("owners %v, want %v", p.owners.index, want)
		}
	}
	add := func(slot int32, name string) {
		t.Helper()
		if err := p.Add(slot, 0, Account{Owner: name}); err != nil {
			t.Fatal(err)
		}
	}
	add(0, "")
	add(1, "")
	check(map[string]int{"": 2})
	if p.owners.bySlot != nil {
		t.Error("slots of a single owner are noted")
	}
	p.Remove(0)
	p.Remove(1)
	add(0, "a")
	add(3, "b")
	add(2, "b")
	check(map[string]int{"a": 1, "b": 2})
	if err := p.Update(0, Account{Owner: "b"}); err != nil {
		t.Fatal(err)
	}
	check(map[string]int{"b": 3})
	add(1, "c")
	p.Remove(3)
	check(map[string]int{"b": 2, "c": 1})
	if n := len(p.owners.list); n != 2 {
		t.Errorf("%d owners are kept of two", n)
	}
}
