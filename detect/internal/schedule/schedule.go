package schedule

import "time"

// Schedule orders the accounts of one shard by the time of their next polls. It has an account from
// Set until Remove. From Next until Done or Put the account is being polled and not due. A Schedule
// is not safe for concurrent use.
type Schedule interface {
	// NextAt returns when the next poll is due, as far as is known now. ok is false if no poll is
	// planned.
	NextAt(now int64) (at int64, ok bool)
	// Next takes out the account to poll now. ok is false if there is none. With sharing set, the
	// account may be due a little later, if it can share the call of the accounts just taken.
	Next(now int64, sharing bool) (due Due, ok bool)
	// Set adds an account, or applies a change in its subscribers' terms.
	Set(slot int32, now int64, ask Ask, first First)
	// Remove removes an account, even while it is being polled. It does nothing for an
	// account that is not in the schedule.
	Remove(slot int32)
	// Put sets the time of an account's next poll. why is the reason.
	Put(slot int32, at int64, why Why)
	// Done puts an account back after a successful poll. The schedule may learn from the poll when
	// the next one is best. With again set, the next poll is made immediately.
	Done(slot int32, now int64, poll Poll, again bool)
	// At returns when an account's next poll is due. ok is false while the account is being polled,
	// and always if a budget sets the pace.
	At(slot int32) (at int64, ok bool)
}

// Why is the reason for putting an account back into a Schedule.
type Why uint8

const (
	Rested  Why = iota // its poll failed, or cannot be made now
	Hurried            // it should be polled at that time, if calls allow
	Alarmed            // it has certainly posted, and goes before all others
)

// Due is an account and when its poll was due.
type Due struct {
	Slot int32
	At   int64
}

// Ask combines the terms of an account's subscribers.
type Ask struct {
	// Interval is the shortest interval of a subscriber, 0 if none has one.
	Interval time.Duration
	// Weight is how much the account's latency counts. Owner is the owner with the largest part of
	// Weight.
	Weight float64
	Owner  string
	// Audited is true if a stream sends the account's posts. The account is then polled exactly
	// once per Interval.
	Audited bool
	// Missed is how long the account may have gone without polls. With Spread, it is polled
	// immediately if a poll was due in that time. Under a budget, it counts as having waited that
	// long.
	Missed time.Duration
}

// First says when an account is polled after Set.
type First uint8

const (
	AtOnce  First = iota // it has a new subscriber
	Changed              // when the changed terms require it; with intervals, immediately
	Spread               // at its offset in the interval, or sooner
	Planned              // as planned before, because it rests or is being polled
	Anew                 // as after a poll made now, or sooner if it is due
)

// Poll tells a schedule about a successful poll. The schedule may learn from it.
type Poll interface {
	// Due returns when the poll was due, and the hash of its account.
	Due() (at int64, hash uint64)
	// FoundTimes returns the publication times of the new posts, none after now.
	FoundTimes(now int64) []int64
	// History returns the publication times of the posts that a first poll showed. It also returns
	// the time since which the poll showed all posts. ok is false for other polls.
	History(now int64) (times []int64, since int64, ok bool)
}

// Accounts gives a schedule information about its accounts.
type Accounts interface {
	// Interval returns the account's present Ask.Interval.
	Interval(slot int32) time.Duration
	// Hash returns the account's hash, the same in every process.
	Hash(slot int32) uint64
	// Username returns the account's name, for the log.
	Username(slot int32) string
}

// GridAfter returns the first time after now, in Unix nanoseconds, on a grid of the given step. The
// hash sets the grid's offset. So a target keeps its offset over restarts, and targets spread
// evenly over the step.
func GridAfter(now int64, hash uint64, step time.Duration) int64 {
	phase := int64(hash % uint64(step))
	n := (now - phase) / int64(step)
	due := phase + n*int64(step)
	for due <= now {
		due += int64(step)
	}
	return due
}
