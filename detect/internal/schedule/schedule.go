package schedule

import "time"

// Schedule orders the accounts of one shard by when their next polls are due.
// An account is in it from Set until Remove. From Next until Done or Put it is
// being polled, and not due. A Schedule is not safe for concurrent use.
type Schedule interface {
	// NextAt is when the next poll is due, as far as is known now; ok is false when none
	// is planned.
	NextAt(now int64) (at int64, ok bool)
	// Next takes out the account to poll now; ok is false when there is none.
	// With sharing set, it may be one that is due a little later, which can share
	// the call of the accounts taken before it.
	Next(now int64, sharing bool) (due Due, ok bool)
	// Set adds an account, or follows a change in what its subscribers ask for.
	Set(slot int32, now int64, ask Ask, first First)
	// Remove removes an account, also while it is being polled, if it is in the
	// schedule.
	Remove(slot int32)
	// Put has an account polled at a time for a reason.
	Put(slot int32, at int64, why Why)
	// Done puts an account back after a successful poll, from which the schedule
	// may learn when to poll it next; with again set that is at once.
	Done(slot int32, now int64, poll Poll, again bool)
	// At is when an account's next poll is due; ok is false while it is being
	// polled, and when a budget decides.
	At(slot int32) (at int64, ok bool)
}

// Why says why an account is put back into a Schedule.
type Why uint8

const (
	Rested  Why = iota // its poll failed, or cannot be made yet
	Hurried            // it is to be polled at the time, as far as there are calls
	Alarmed            // it is known to have posted, and goes before all others
)

// Due is an account and when its poll was due.
type Due struct {
	Slot int32
	At   int64
}

// Ask is what the subscribers of an account ask for together.
type Ask struct {
	// Interval is the shortest time between two polls that one of them wants; 0
	// for none.
	Interval time.Duration
	// Weight is how much its latency counts, and Owner who owns the heaviest
	// part of it.
	Weight float64
	Owner  string
	// Audited: a stream brings its posts. It is polled once in an Interval, and not
	// more often.
	Audited bool
	// Missed is for how long it may be that nobody polled the account at its places in
	// the interval: after Spread it is polled at once if one of them was. Under a budget it
	// has waited for so long.
	Missed time.Duration
}

// First says when an account is polled after Set.
type First uint8

const (
	AtOnce  First = iota // it has a new subscriber
	Changed              // when the changed terms have it polled: by interval at once
	Spread               // when its place in the interval comes, or sooner
	Planned              // as planned before: it rests, or is being polled
	Anew                 // when it would be after a poll made now, or sooner if it is due
)

// Poll is what a schedule may learn of a successful poll.
type Poll interface {
	// Due is when the poll was due, of an account with the given hash.
	Due() (at int64, hash uint64)
	// FoundTimes gives the times of the posts that were new, none after now.
	FoundTimes(now int64) []int64
	// History gives the times of the posts that a first poll showed, and since
	// when it showed all of them; ok is false for other polls.
	History(now int64) (times []int64, since int64, ok bool)
}

// Accounts is what a schedule asks of the accounts that it orders.
type Accounts interface {
	// Interval is Ask.Interval as it is now.
	Interval(slot int32) time.Duration
	// Hash is the same for an account in every process.
	Hash(slot int32) uint64
	// Username names it, for the log.
	Username(slot int32) string
}

// GridAfter is the first moment after now, Unix nanoseconds, of the grid with
// the given step whose phase follows from the hash. A target keeps its phase
// over restarts, and targets spread evenly over the step.
func GridAfter(now int64, hash uint64, step time.Duration) int64 {
	phase := int64(hash % uint64(step))
	n := (now - phase) / int64(step)
	due := phase + n*int64(step)
	for due <= now {
		due += int64(step)
	}
	return due
}
