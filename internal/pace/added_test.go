package pace

import "testing"

// running is a Pacer of 1,000 accounts of one owner at 10 requests a second, and one of
// another, "new", whose accounts have all been polled for a while, until now.
func running(t *testing.T) (p *Pacer, now int64) {
	t.Helper()
	p = newPacer(t, 10, 0)
	addAll(t, p, 1000, Account{Owner: "old"})
	if err := p.Add(1000, 0, Account{Owner: "new"}); err != nil {
		t.Fatal(err)
	}
	for now < 600*second {
		pollOne(t, p, now)
		now += second / 10
	}
	return p, now
}

// addNew adds the accounts from one slot up to another, of the owner "new".
func addNew(t *testing.T, p *Pacer, from, to int32, now int64) {
	t.Helper()
	for slot := from; slot < to; slot++ {
		if err := p.Add(slot, now, Account{Owner: "new"}); err != nil {
			t.Fatal(err)
		}
	}
}

// pollOne makes the poll that is next, which finds nothing; slot is -1 for none.
func pollOne(t *testing.T, p *Pacer, now int64) (slot int32) {
	t.Helper()
	slot, ok := p.Next(now)
	if !ok {
		return -1
	}
	if _, err := p.Observe(slot, now, nil); err != nil {
		t.Fatal(err)
	}
	return slot
}

// lastFirstPoll is how long it takes until the accounts from one slot up to another, of
// which none was polled, have all been, at 10 polls a second.
func lastFirstPoll(t *testing.T, p *Pacer, from, to int32, now int64) int64 {
	t.Helper()
	waiting := map[int32]bool{}
	for slot := from; slot < to; slot++ {
		waiting[slot] = true
	}
	for at := now; at < now+20_000*second; at += second / 10 {
		if delete(waiting, pollOne(t, p, at)); len(waiting) == 0 {
			return at - now
		}
	}
	t.Errorf("%d accounts are not polled", len(waiting))
	return 20_000 * second
}

// New accounts of an owner have their first polls one after another, for half of the
// budget, and hold up nobody else's, also when the budget was low as they were added.
func TestAddedOneAfterAnother(t *testing.T) {
	for _, low := range []float64{10, 1} {
		p, now := running(t)
		if err := p.SetBudget(low); err != nil {
			t.Fatal(err)
		}
		addNew(t, p, 1001, 1501, now)
		if err := p.SetBudget(10); err != nil {
			t.Fatal(err)
		}
		if err := p.Add(1501, now, Account{Owner: "another"}); err != nil {
			t.Fatal(err)
		}
		if got := lastFirstPoll(t, p, 1501, 1502, now); got > second {
			t.Errorf("budget %g: first poll of another owner after %d s, want 1 at most", low, got/second)
		}
		most := int64(2.1 * p.bounds.share() * float64(second))
		if got := lastFirstPoll(t, p, 1001, 1501, now); got > most {
			t.Errorf("budget %g: last first poll after %d s, want at most %d", low, got/second, most/second)
		}
	}
}

// Accounts that are resumed while the budget is low for a moment have their first polls
// within about two equal shares of the budget that there is, also when it rises in steps.
func TestResumedWhileTheBudgetIsLow(t *testing.T) {
	for _, rise := range [][]float64{{10}, {1, 10}, {0.1, 10}, {0.1, 0.3, 1, 3, 10}} {
		beside, now := running(t)
		alone := newPacer(t, 10, 0)
		for _, p := range []*Pacer{beside, alone} {
			first := int32(p.bounds.n)
			for i, budget := range rise {
				if err := p.SetBudget(budget); err != nil {
					t.Fatal(err)
				}
				for slot := first; i == 0 && slot < first+500; slot++ {
					if err := p.Resume(slot, now, now, Account{Owner: "new"}); err != nil {
						t.Fatal(err)
					}
				}
			}
			most := int64(2.1 * p.bounds.share() * float64(second))
			if got := lastFirstPoll(t, p, first, first+500, now); got > most {
				t.Errorf("budgets %g, %d accounts: last first poll after %d s, want at most %d", rise, p.bounds.n, got/second, most/second)
			}
		}
	}
}
