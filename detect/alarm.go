package detect

import (
	"sync/atomic"
	"time"
)

// beat is how long polls may wait for others while they are due close after each
// other: to wake a thread costs more than a poll. It is a little over what the
// runtime's poller can sleep, which is whole milliseconds.
const beat = int64(2070 * time.Microsecond)

// alarm rings a shard's bell when its next poll is due, in brisk times on a beat.
// The shard's goroutine owns it.
//
// The next beat is set before the polls of this one are begun: by their end the
// runtime's poller sleeps until whatever was planned then, and would have to be
// woken to be told of an earlier time. Shards share their beats, so that one thread
// wakes for all.
type alarm struct {
	clock func() int64
	beats *atomic.Int64 // when the last one that a shard has set is
	timer *time.Timer
	at    int64 // when it rings next; 0: not set
	brisk bool  // the last poll that was looked for was due within a beat
}

func newAlarm(d *Detector, ring func()) *alarm {
	return &alarm{clock: d.clock, beats: &d.beats, timer: time.AfterFunc(time.Duration(longSleep), ring), at: longSleep}
}

func (a *alarm) stop() { a.timer.Stop() }

// rung is called whenever the bell has rung, by whomever.
func (a *alarm) rung() {
	now := a.clock()
	if now < a.at {
		return
	}
	a.at = 0
	if !a.brisk {
		return
	}
	next := a.beats.Load()
	if next <= now || next > now+beat {
		next = now + beat
		a.beats.Store(next)
	}
	a.reset(next, now)
}

// set makes it ring when the next poll is due. With exact it does so at that time,
// else it may ring up to a beat later.
func (a *alarm) set(due int64, exact bool) {
	now := a.clock()
	a.brisk = !exact && due < now+beat
	if a.brisk && a.at != 0 && a.at <= now+beat || due == a.at {
		return
	}
	a.reset(due, now)
}

func (a *alarm) reset(at, now int64) {
	a.at = at
	a.timer.Reset(time.Duration(at - now))
}
