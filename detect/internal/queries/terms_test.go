package queries_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/queries"
)

// daily returns the schedule of a time of day, which is so long after midnight.
func daily(at time.Duration) func(time.Time) time.Time {
	return func(after time.Time) time.Time {
		next := after.Truncate(24 * time.Hour).Add(at)
		if !next.After(after) {
			next = next.Add(24 * time.Hour)
		}
		return next
	}
}

// hourlyFrom is a schedule whose next time is an hour after the moment at which it is asked.
func hourlyFrom(at time.Time) time.Time { return at.Add(time.Hour) }

// schedule sets the schedule by which rule a wants the query moon.
func (k *kit) schedule(next func(time.Time) time.Time, every time.Duration) {
	s := terms("a", "moon", 0)
	s.Next, s.Every = next, every
	k.Set("a", s, queries.Start{})
}

// A rule's new schedule holds from the moment at which it is set, also where its polls are as
// far apart as before. A schedule that is set again skips no poll, and repeats none.
func TestScheduleChanges(t *testing.T) {
	const day = 24 * time.Hour // epoch is at 3 o'clock
	for name, row := range map[string]struct {
		do  func(k *kit)
		due time.Duration // from epoch on
	}{
		"to an earlier time of the day": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(time.Hour).schedule(daily(5*time.Hour), day)
		}, 2 * time.Hour},
		"to a later one": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(time.Hour).schedule(daily(11*time.Hour), day)
		}, 8 * time.Hour},
		"to none": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(time.Hour).schedule(func(time.Time) time.Time { return time.Time{} }, day)
		}, -1},
		"not at all": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(time.Hour).schedule(daily(9*time.Hour), day)
		}, 6 * time.Hour},
		"not at all, where it counts from the last poll": {func(k *kit) {
			k.schedule(hourlyFrom, time.Hour)
			k.at(50*time.Minute).schedule(hourlyFrom, time.Hour)
		}, time.Hour},
		"not at all, when a poll is due": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(6*time.Hour).schedule(daily(9*time.Hour), day)
		}, 6 * time.Hour},
		"when a poll is due": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.at(6*time.Hour+time.Second).schedule(daily(5*time.Hour), day)
		}, 6 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t).at(0)
			row.do(k)
			if got := k.next(); got != row.due {
				t.Errorf("due after %s, want %s", got, row.due)
			}
		})
	}
}

// A query that waits for its turn to be polled at once still does when a rule asks for it
// less often.
func TestIntervalChangesWhenAPollIsDue(t *testing.T) {
	k := newKit(t).at(time.Second)
	k.follow("a", "moon", time.Minute)
	k.at(3*time.Second).follow("a", "moon", time.Hour)
	if got := k.next(); got != time.Second {
		t.Errorf("due after %s, want a second as before", got)
	}
}
