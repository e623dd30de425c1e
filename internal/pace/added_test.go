package pace

import "testing"

// running is a Pacer of 1,000 accounts of one owner at 10 requests a second, and one of
// another, "new", whose accounts have all been polled for a while, until now.
func running(t *testing.T) (p *Pacer, now int64) {
	t.Helper()
	p = newPacer(t, Config{Budget: 10}, 0)
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

// Accounts that are added while the budget is low for a moment do not wait as if it had
// stayed so: a quarter of the budget that there is has their first polls.
func TestAddedWhileTheBudgetIsLow(t *testing.T) {
	for _, low := range []float64{10, 1, 0.1} {
		p, now := running(t)
		if err := p.SetBudget(low); err != nil {
			t.Fatal(err)
		}
		addNew(t, p, 1001, 1501, now)
		if err := p.SetBudget(10); err != nil {
			t.Fatal(err)
		}
		most := 100 * second // by half of the budget
		if low < 10 {
			most = 200 * second
		}
		if got := lastFirstPoll(t, p, 1001, 1501, now); got > most {
			t.Errorf("added at a budget of %g: last first poll after %d s, want at most %d", low, got/second, most/second)
		}
		now += most
		pollOne(t, p, now)
		addNew(t, p, 1501, 1502, now)
		if got := lastFirstPoll(t, p, 1501, 1502, now); got > second {
			t.Errorf("added after those added at a budget of %g: first poll after %d s, want 1 at most", low, got/second)
		}
	}
}

// Accounts that are gone keep no turn: those that their owner adds next have the places
// that they have without them.
func TestRemovedAccountsKeepNoTurn(t *testing.T) {
	for _, n := range []int32{1, 100} {
		p, now := running(t)
		addNew(t, p, 1001, 1501, now)
		for range 20 {
			if now += second / 10; now%second == 0 {
				for slot := int32(1001); slot < 1501; slot++ {
					p.Remove(slot)
				}
			}
			pollOne(t, p, now)
		}
		addNew(t, p, 1001, 1001+n, now)
		most := int64(n) * second / 5
		if got := lastFirstPoll(t, p, 1001, 1001+n, now); got > most {
			t.Errorf("%d added after 500 are gone: last first poll after %d ms, want at most %d", n, got/1e6, most/1e6)
		}
	}
}

// The last of many that were added does not wait for those before it that are gone.
func TestRemovedAccountsHoldNoneUp(t *testing.T) {
	p, now := running(t)
	addNew(t, p, 1001, 1501, now)
	for slot := int32(1001); slot < 1500; slot++ {
		p.Remove(slot)
	}
	if got := lastFirstPoll(t, p, 1500, 1501, now); got > second {
		t.Errorf("first poll after %d s, want 1 at most", got/second)
	}
}

// An added account whose owner changes waits for its first poll in the turns of the new one.
func TestAddedAccountChangesItsOwner(t *testing.T) {
	p, now := running(t)
	if err := p.SetBudget(0.1); err != nil {
		t.Fatal(err)
	}
	addNew(t, p, 1001, 1501, now)
	if err := p.SetBudget(10); err != nil {
		t.Fatal(err)
	}
	for slot := int32(1001); slot < 1501; slot++ {
		if err := p.Update(slot, Account{Owner: "other"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := lastFirstPoll(t, p, 1001, 1501, now); got > 200*second {
		t.Errorf("last first poll after %d s, want at most 200", got/second)
	}
}

// Accounts that are resumed while the budget is low for a moment have their first polls
// within about two equal shares of the budget that there is, also when it rises in steps.
func TestResumedWhileTheBudgetIsLow(t *testing.T) {
	for _, rise := range [][]float64{{10}, {1, 10}, {0.1, 10}, {0.1, 0.3, 1, 3, 10}} {
		beside, now := running(t)
		alone := newPacer(t, Config{Budget: 10}, 0)
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

// An added account that may go first before it is due is due when its turn comes.
func TestDueAtTheTurnOfAnAddedAccount(t *testing.T) {
	p := newPacer(t, Config{Budget: 0.01}, 0)
	const start, turn = 1000 * second, 4 * second / 10 // a quarter of the budget there will be
	addNew(t, p, 0, 3, start)                          // their places are 200 s apart
	if err := p.SetBudget(10); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		now := start + i*turn
		if i > 0 {
			if at, ok := p.DueAt(now - turn + 1); !ok || at != now {
				t.Errorf("account %d is due after %d ms, %t, want %d", i, (at-start)/1e6, ok, (now-start)/1e6)
			}
		}
		if at, ok := p.DueAt(now); !ok || at > now {
			t.Errorf("account %d is due %d ms after its turn, %t, want 0", i, (at-now)/1e6, ok)
		}
		if slot := pollOne(t, p, now); slot != int32(i) {
			t.Errorf("account %d is polled in the turn of %d", slot, i)
		}
	}
}
