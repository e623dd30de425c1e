package dispatch

import (
	"github.com/streamwatch/streamwatch/deliver"
	"time"
)

// pauseHeld is how long a lane may wait with its queue in memory. For longer
// waits the queue goes back to the outbox.
const pauseHeld = 10 * time.Second

// pausedLook is how often the record of a paused endpoint is read: another
// process may have resumed it.
const pausedLook = time.Minute

// hold parks the lane of a paused endpoint, false when the pause has lasted too
// long.
func (d *Dispatcher) hold(l *lane) bool {
	e, now := &l.endpoint, d.cfg.Now()
	if now.Sub(e.PausedSince) < deliver.MaxPause {
		l.loaded = time.Time{} // read anew after the wait
		d.pause(l, pausedLook)
		return true
	}
	d.keeper.want(l, verdict{kind: deliver.NoticeDisabled, paused: true, since: e.PausedSince,
		reason: "paused since " + e.PausedSince.UTC().Format(time.RFC3339)}, now)
	return false
}

// pause has nothing start in a lane for a while. After a long wait its
// deliveries come back in the order they had.
func (d *Dispatcher) pause(l *lane, wait time.Duration) {
	if until := time.Now().Add(wait); until.After(l.until) {
		l.until = until
	}
	if wait <= pauseHeld {
		d.offer(l)
		return
	}
	l.parked = true
	d.shut[l] = struct{}{}
	d.trim(l, 0)
	d.reader.wakeAt(d.cfg.Now().Add(wait))
}

// rests reports whether a lane waits with its queue in the outbox.
func (d *Dispatcher) rests(l *lane) bool {
	if l.parked && !time.Now().Before(l.until) {
		l.parked = false
	}
	return l.parked
}

// trim leaves the lane no more than n of its queue, and the rest to the outbox,
// with all that is of replays.
func (d *Dispatcher) trim(l *lane, n int) {
	for _, it := range l.later {
		delete(d.held, it.ID)
		d.spill(l, &it.Delivery)
	}
	l.later = nil
	if len(l.queue) <= n {
		return
	}
	for _, it := range l.queue[n:] {
		delete(d.held, it.ID)
		d.spill(l, &it.Delivery)
	}
	clear(l.queue[n:])
	l.queue = l.queue[:n]
	if n > 0 {
		d.setFull(l)
	}
	d.offer(l)
}

func (d *Dispatcher) setFull(l *lane) {
	l.full = true
	d.shut[l] = struct{}{}
}

// spill leaves a delivery to the outbox, due at once or when its lane has
// waited. Until the lane has caught up, newer ones go there, too.
func (d *Dispatcher) spill(l *lane, dv *deliver.Delivery) {
	now := d.cfg.Now()
	due := now
	if l.parked {
		due = now.Add(max(0, time.Until(l.until)))
	}
	l.behind = d.reader.round
	d.behind[l] = struct{}{}
	d.reader.spill(dv, due, now)
}
