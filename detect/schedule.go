package detect

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// never is a time that does not come.
const never = math.MaxInt64

// busyPause is how long a target that is due waits while its gap is being read.
const busyPause = int64(250 * time.Millisecond)

// Interval, Hash and Username are what a schedule asks of the accounts.
func (sh *shard) Interval(slot int32) time.Duration { return sh.interval(slot) }
func (sh *shard) Hash(slot int32) uint64            { return sh.roster.hash(slot) }
func (sh *shard) Username(slot int32) string        { return sh.username(slot) }

// nextAt is when the next poll of an account is due; ok is false when none is
// planned.
func (sh *shard) nextAt() (at int64, ok bool) {
	if at, ok = sh.sched.NextAt(); !ok {
		return never, false
	}
	return at, true
}

// take takes out the targets that one upstream call polls now.
func (sh *shard) take(now int64) []schedule.Due {
	sh.taken = sh.taken[:0]
	for len(sh.taken) < sh.d.batchSize {
		due, ok := sh.sched.Next(now, len(sh.taken) > 0)
		if !ok {
			break
		}
		single := sh.targets.at(due.Slot).is(alone)
		if single && len(sh.taken) > 0 {
			sh.sched.Fail(due.Slot, due.At) // it is the next call's
			break
		}
		sh.taken = append(sh.taken, due)
		if single {
			break
		}
	}
	return sh.taken
}

// postpone puts a target back whose gap is being read.
func (sh *shard) postpone(slot int32, now int64) { sh.sched.Fail(slot, now+busyPause) }

// unplan takes a target out of the schedule.
func (sh *shard) unplan(slot int32) {
	sh.fills.Remove(slot)
	delete(sh.fillTries, slot)
	sh.sched.Remove(slot)
}

// plan takes a target into the schedule, or follows a change of what its
// subscribers ask for.
func (sh *shard) plan(slot int32, added, spread bool) {
	t := sh.targets.at(slot)
	first := schedule.AtOnce
	switch {
	case t.state != idle:
		t.set(again, true)
		first = schedule.Planned
	case sh.troubles[slot] != nil: // it is resting
		first = schedule.Planned
	case spread:
		first = schedule.Spread
	case !added:
		first = schedule.Changed
	}
	sh.sched.Set(slot, sh.d.clock(), sh.ask(slot), first)
}

// ask is what the subscribers of a target ask for together.
func (sh *shard) ask(slot int32) (a schedule.Ask) {
	var most float64 // of an owner's weight; between equal ones the first by name
	a.Interval = sh.interval(slot)
	sh.eachSub(slot, func(s subscriber) {
		src := sh.wants[s.want].source
		a.Weight += src.weight
		if src.weight > most || src.weight == most && src.Owner < a.Owner {
			most, a.Owner = src.weight, src.Owner
		}
	})
	return a
}

// postRate is how often an account posts, a second; 0 when that is not known.
func (sh *shard) postRate(slot int32) float64 {
	if r, ok := sh.sched.Rate(slot); ok {
		return r
	}
	return sh.targets.at(slot).rate.perSecond()
}

// pollRate is how many accounts a second the calls allow to poll.
func (d *Detector) pollRate() float64 {
	together := max(1, min(int64(d.batchSize), d.count.targets.Load()))
	rate := forAccounts(d.cfg.FetchRate, math.Float64frombits(d.count.queryRate.Load()))
	return rate / d.planning().callsPerPoll(float64(together))
}

// reschedule sets a target's next poll after one whose commit ended with err.
func (sh *shard) reschedule(f *flight, err error) {
	t, now := sh.targets.at(f.slot), sh.now
	if f.plan.gap != nil {
		sh.filled(f, err, now)
		if t.is(again) && sh.troubles[f.slot] == nil {
			t.set(again, false)
			sh.sched.Hurry(f.slot, now)
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
		sh.sched.Fail(f.slot, now+int64(wait))
	case f.out.err != nil:
		sh.followTrouble(f)
		sh.sched.Fail(f.slot, now+int64(sh.d.retryWait(sh.failures(f.slot), f.out.err)))
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
	sh.sched.Done(f.slot, now, f, hurry)
}

// overlap is how far a poll looks back beyond the one before.
func (d *Detector) overlap() time.Duration { return d.late.Overlap() }
