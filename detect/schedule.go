package detect

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/pace"
)

// never is a time that does not come.
const never = math.MaxInt64

// dueSlot is a target and when its poll was due.
type dueSlot struct {
	slot int32
	at   int64
}

// busyPause is how long a target that is due waits while its gap is being read.
const busyPause = int64(250 * time.Millisecond)

// lookAhead is the part of its interval that an account may be polled early
// to share a call with others that are due.
const lookAhead = 10

// nextAt is when the next poll is due; ok is false when none is planned. Times
// are the detector's clock.
func (sh *shard) nextAt() (at int64, ok bool) {
	if sh.pacer != nil {
		if at, ok = sh.pacer.NextAt(); !ok {
			return never, false
		}
		return at, true
	}
	if _, at, ok = sh.sched.Next(); !ok {
		return never, false
	}
	return at, true
}

// take takes out the targets that one upstream call polls now.
func (sh *shard) take(now int64) []dueSlot {
	sh.taken = sh.taken[:0]
	size := sh.d.batchSize
	if sh.pacer != nil {
		for len(sh.taken) < size {
			slot, ok := sh.pacer.Next(now)
			if !ok {
				break
			}
			single := sh.targets.at(slot).is(alone)
			if single && len(sh.taken) > 0 {
				sh.pacer.Fail(slot, now) // it is the next call's
				break
			}
			sh.taken = append(sh.taken, dueSlot{slot, now})
			if single {
				break
			}
		}
		return sh.taken
	}
	for len(sh.taken) < size {
		slot, at, ok := sh.sched.Next()
		if !ok || at > now && (len(sh.taken) == 0 || at > now+int64(sh.interval(slot))/lookAhead) {
			break
		}
		single := sh.targets.at(slot).is(alone)
		if single && len(sh.taken) > 0 {
			break
		}
		sh.sched.Remove(slot)
		sh.taken = append(sh.taken, dueSlot{slot, at})
		if single {
			break
		}
	}
	return sh.taken
}

// postpone puts a target back whose gap is being read.
func (sh *shard) postpone(slot int32, now int64) { sh.rest(slot, now+busyPause) }

// rest lets a target wait until then, whatever its interval.
func (sh *shard) rest(slot int32, until int64) {
	if sh.pacer != nil {
		sh.pacer.Fail(slot, until)
		return
	}
	sh.sched.Set(slot, until)
}

// hurry lets an idle target be polled at once, as far as the budget allows.
func (sh *shard) hurry(slot int32) {
	if sh.pacer != nil {
		sh.pacer.Hurry(slot, sh.d.clock())
		return
	}
	sh.sched.Set(slot, sh.d.clock())
}

// unplan takes a target out of the schedule.
func (sh *shard) unplan(slot int32) {
	sh.fills.Remove(slot)
	delete(sh.fillTries, slot)
	if sh.pacer != nil {
		sh.pacer.Remove(slot)
		sh.noteBudget()
		return
	}
	sh.sched.Remove(slot)
}

// plan takes a target into the schedule, or follows a change of what its
// subscribers ask for.
func (sh *shard) plan(slot int32, added, spread bool) {
	t := sh.targets.at(slot)
	fresh := sh.pacer != nil && !sh.pacer.Has(slot) // due at once by itself
	if sh.pacer != nil {
		sh.pace(slot)
	}
	switch {
	case t.state != idle:
		t.set(again, true)
	case sh.troubles[slot] != nil: // it is resting
	case sh.pacer != nil && (spread || fresh || !added):
	case spread:
		sh.sched.Set(slot, sh.d.gridAfter(sh.d.clock(), sh.roster.hash(slot), sh.interval(slot)))
	default:
		sh.hurry(slot)
	}
}

// pace tells the pacer what the subscribers of a target ask for together.
func (sh *shard) pace(slot int32) {
	var a pace.Account
	var most float64 // of an owner's weight; between equal ones the first by name
	sh.eachSub(slot, func(s subscriber) {
		src := sh.wants[s.want].source
		a.Weight += src.weight
		if src.weight > most || src.weight == most && src.Owner < a.Owner {
			most, a.Owner = src.weight, src.Owner
		}
	})
	if iv := sh.interval(slot); iv > 0 {
		if sh.d.cfg.Pace == PaceAtLeast {
			a.Min = iv
		} else {
			a.Max = iv
		}
	}
	var err error
	if sh.pacer.Has(slot) {
		err = sh.pacer.Update(slot, a)
	} else {
		err = sh.pacer.Add(slot, sh.d.clock(), a)
	}
	sh.noteBudget()
	if err != nil { // subscriptions were checked: see Subscription.validate
		sh.d.cfg.Logger.Error("account is not paced", "username", sh.username(slot), "error", err)
	}
}

// noteBudget tells the pacer how many accounts a second can be polled, as calls
// are shared and pages are read now, publishes what the accounts' bounds need
// of it, and warns when that becomes too much.
func (sh *shard) noteBudget() {
	was := sh.d.paceStats()
	if polls := sh.d.pollRate(); polls != was.Budget {
		if err := sh.pacer.SetBudget(polls); err != nil {
			sh.d.cfg.Logger.Error("budget is not set", "error", err)
		}
		sh.d.count.budget.Store(math.Float64bits(polls))
	}
	sh.d.count.demand.Store(math.Float64bits(sh.pacer.Demand()))
	is := sh.d.paceStats()
	if was.Feasible && !is.Feasible {
		sh.d.cfg.Logger.Warn("the budget does not suffice for the longest times between polls", "budget", is.Budget, "demand", is.Demand)
	}
}

// pollRate is how many accounts a second the calls allow to poll.
func (d *Detector) pollRate() float64 {
	together := max(1, min(int64(d.batchSize), d.count.targets.Load()))
	rate := forAccounts(d.cfg.FetchRate, math.Float64frombits(d.count.queryRate.Load()))
	return rate / d.planning().callsPerPoll(float64(together))
}

// noteBudgetEvery is how many polls apart the budget is looked at again.
const noteBudgetEvery = 256

// reschedule sets a target's next poll after one whose commit ended with err.
func (sh *shard) reschedule(f *flight, err error) {
	t, now := sh.targets.at(f.slot), sh.now
	if f.plan.gap != nil {
		sh.filled(f, err, now)
		if t.is(again) && sh.troubles[f.slot] == nil {
			t.set(again, false)
			sh.hurry(f.slot)
		}
		return
	}
	switch {
	case err != nil: // the store's fault and not the account's: it is due again soon
		tr := sh.trouble(f)
		tr.failures++
		tr.err = err
		wait := sh.d.backoff(tr.failures)
		if iv := sh.interval(f.slot); iv > 0 {
			wait = min(wait, max(iv, sh.d.cfg.MinBackoff))
		}
		sh.rest(f.slot, now+int64(wait))
	case f.out.err != nil:
		sh.followTrouble(f)
		sh.rest(f.slot, now+int64(sh.d.retryWait(sh.failures(f.slot), f.out.err)))
	default:
		sh.followTrouble(f)
		sh.succeeded(f, now)
	}
}

// succeeded plans the poll after a successful one.
func (sh *shard) succeeded(f *flight, now int64) {
	t := sh.targets.at(f.slot)
	hurry := t.is(again)
	t.set(again|alone, false)
	if sh.pacer != nil {
		sh.observe(f, now)
		if sh.observed++; sh.observed%noteBudgetEvery == 0 {
			sh.noteBudget()
		}
		if hurry {
			sh.hurry(f.slot)
		}
		return
	}
	if hurry {
		sh.sched.Set(f.slot, now)
		return
	}
	// A poll that was made early counts for when it was due.
	sh.sched.Set(f.slot, sh.d.gridAfter(max(now, f.due), f.hash, sh.interval(f.slot)))
}

// overlap is how far a poll looks back beyond the one before.
func (d *Detector) overlap() time.Duration { return d.late.Overlap() }
