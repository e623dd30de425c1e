package accounts

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Waits returns the time until which an account cannot be polled, 0 if it can be polled now. It
// cannot be polled while a poll of it reads a gap or commits pushed posts, while the bucket of its
// calls is closed, or before its turn.
func (a *Targets) Waits(slot int32) (until int64) {
	if a.at(slot).Polled {
		return a.times.Now + poll.BusyPause
	}
	buckets, turns := a.env.Budget.Buckets, a.env.Roles.Turns
	if !buckets.Any() && turns == nil {
		return 0
	}
	call := fetcher.Call{Role: fetcher.RoleTimeline, Account: a.Account(slot)}
	if until = buckets.Until(a.env.Bucket(call)); until > a.times.Now { // spreads the polls after the bucket opens
		return until + rand.Int64N(1+(until-a.times.Now)/10)
	}
	if turns == nil {
		return 0
	}
	if wait := turns.Turn(call, a.owners(slot)); wait > 0 {
		return a.times.Now + int64(wait)
	}
	return 0
}

func (a *Targets) owners(slot int32) (owners []string) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { owners = append(owners, src.Owner) })
	return owners
}

// reclosed is how long a poll may wait for a closed bucket until that is reported. A bucket is
// closed at once for that long at most.
const reclosed = 15 * time.Minute

// Wait rests an account whose poll, due at the given time, cannot begin before until. If the account
// is then polled less often than its interval, Wait reports that to the subscribers.
func (a *Targets) Wait(slot int32, due, until int64) {
	every, late := a.Interval(slot), time.Duration(until-due)
	bucket := a.env.Bucket(fetcher.Call{Role: fetcher.RoleTimeline, Account: a.Account(slot)})
	why := fmt.Sprintf("accounts of %q are read in turn", bucket)
	if a.env.Budget.Buckets.Until(bucket) > a.times.Now {
		late = time.Duration(a.times.Now-due) - reclosed
		why = fmt.Sprintf("the rate limit of %q goes on", bucket)
	}
	if a.Polls.Wait(slot, due, late, every) {
		a.tell(slot, fmt.Errorf("read after %s in place of %s: %s", time.Duration(until-due).Round(time.Second), every, why))
	}
	a.Rest(slot, until)
}

// Waited records that a poll of an account begins, which was due late ago. If it is no longer late,
// Waited reports that.
func (a *Targets) Waited(slot int32, late time.Duration) {
	if t := a.at(slot); a.Polls.Waited(slot, late, a.Interval(slot)) && t.Failures() == 0 {
		a.tell(slot, nil)
	}
}

func (a *Targets) tell(slot int32, err error) {
	a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { a.Polls.Tell(a.Username(slot), src.Source.Source, err) })
}
