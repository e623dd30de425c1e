package queries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
)

// ahead sets by how much the wall clock is ahead of the detector's.
func (k *kit) ahead(d time.Duration) *kit {
	k.env.Now = func() time.Time { return epoch.Add(k.now + d) }
	return k
}

// turn asks for the next turn, as a shard does when it wakes up, and returns when it is to
// wake up next.
func (k *kit) turn() time.Duration {
	_, at := k.Turn(queries.Never, int64(k.now), false)
	return time.Duration(at)
}

// The schedules of rules go by the wall clock, also when it is set, or when the machine
// sleeps and the detector's clock stands: a poll whose time came meanwhile is made at once.
func TestSchedulesFollowTheWallClock(t *testing.T) {
	const day = 24 * time.Hour // epoch is at 3 o'clock
	for name, row := range map[string]struct {
		do  func(k *kit)
		due time.Duration // from epoch on
	}{
		"the machine slept past the time": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.turn()
			k.at(time.Hour).ahead(8 * time.Hour)
		}, time.Hour},
		"the machine slept until before it": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.turn()
			k.at(time.Hour).ahead(2 * time.Hour)
		}, 4 * time.Hour},
		"the clock was ahead, and is set back": {func(k *kit) {
			k.ahead(3*time.Hour).schedule(daily(5*time.Hour), day)
			k.turn()
			k.at(time.Hour).ahead(0)
		}, 2 * time.Hour},
		"the clock is set back a little, and the schedule counts from the last poll": {func(k *kit) {
			k.schedule(hourlyFrom, time.Hour)
			k.turn()
			k.at(50 * time.Minute).ahead(-20 * time.Millisecond)
		}, time.Hour + 20*time.Millisecond},
		"it is set back once more": {func(k *kit) {
			k.schedule(hourlyFrom, time.Hour)
			k.turn()
			k.at(40 * time.Minute).ahead(-20 * time.Millisecond).turn()
			k.at(50 * time.Minute).ahead(-40 * time.Millisecond)
		}, time.Hour + 40*time.Millisecond},
		"the query rests after a failure": {func(k *kit) {
			k.schedule(hourlyFrom, time.Hour)
			p := k.at(time.Hour).begin()
			p.Out = poll.Outcome{Begun: epoch.Add(k.now), Err: errors.New("not now")}
			k.Polls.Landed(p)
			k.at(time.Hour + time.Second/4).ahead(8 * time.Hour)
		}, 0},
		"no time was moved": {func(k *kit) {
			k.schedule(daily(9*time.Hour), day)
			k.turn()
			k.at(time.Hour)
		}, 6 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t).at(0)
			row.do(k)
			if row.due == 0 { // whatever was planned
				row.due = k.next()
			}
			if at := k.turn(); at > k.now+time.Minute {
				t.Errorf("the shard looks at the clock again at %s, now is %s", at, k.now)
			}
			if due := k.next(); due != row.due {
				t.Errorf("the query is due at %s, want %s", due, row.due)
			}
		})
	}
}

// Without schedules the shard sleeps until a query is due.
func TestIntervalsDoNotLookAtTheWallClock(t *testing.T) {
	k := newKit(t).at(0)
	k.follow("a", "moon", time.Hour)
	k.end(k.begin())
	if at := k.turn(); at != k.next() {
		t.Errorf("the shard wakes up at %s, the query is due at %s", at, k.next())
	}
}
