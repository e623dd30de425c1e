package dispatch

import "time"

const (
	breakerWindow  = time.Minute
	breakerSlots   = 12   // parts of the breakerWindow: it is 55 to 60 s long
	breakerLeast   = 10   // attempts in the breakerWindow before the breaker can open
	breakerShare   = 0.70 // of the attempts failed from which it opens
	breakerFirst   = 30 * time.Second
	breakerLongest = 10 * time.Minute
)

// breaker stops attempts to an endpoint that fails nearly all of them. It opens for 30 s. Then one
// attempt, the probe, begins. If the probe succeeds, the breaker closes. If the probe fails, it
// opens for twice as long, up to 10 minutes. Times are from one clock and never step back. The
// zero value is closed.
type breaker struct {
	epoch  time.Time // beginning of slot 0
	newest int64     // slot of the latest attempt
	counts [breakerSlots]struct{ all, failed uint32 }

	open  time.Duration // how long it opened for; 0 when closed
	until time.Time     // when the probe may be made
}

// record counts an attempt that has ended. If the attempt opens the breaker, record returns how
// long no attempt may begin, otherwise 0.
func (b *breaker) record(now time.Time, ok bool) time.Duration {
	if b.open > 0 {
		switch {
		case now.Before(b.until): // it was under way when the breaker opened
			return 0
		case ok:
			*b = breaker{}
			return 0
		}
		return b.trip(now, min(2*b.open, breakerLongest))
	}
	all, failed := b.count(now, ok)
	if ok || all < breakerLeast || float64(failed) < breakerShare*float64(all) {
		return 0
	}
	return b.trip(now, breakerFirst)
}

// isOpen reports whether the breaker is open, or waits for the outcome of the probe.
func (b *breaker) isOpen() bool { return b.open > 0 }

func (b *breaker) trip(now time.Time, open time.Duration) time.Duration {
	*b = breaker{open: open, until: now.Add(open)}
	return open
}

// count adds an attempt to the breakerWindow. It returns the number of all and of failed attempts
// in the breakerWindow.
func (b *breaker) count(now time.Time, ok bool) (all, failed uint64) {
	if b.epoch.IsZero() {
		b.epoch = now
	}
	slot := int64(now.Sub(b.epoch) / (breakerWindow / breakerSlots))
	b.newest = max(b.newest, slot-breakerSlots)
	for b.newest < slot {
		b.newest++
		b.counts[b.newest%breakerSlots].all, b.counts[b.newest%breakerSlots].failed = 0, 0
	}
	s := &b.counts[slot%breakerSlots]
	s.all++
	if !ok {
		s.failed++
	}
	for _, s := range b.counts {
		all, failed = all+uint64(s.all), failed+uint64(s.failed)
	}
	return all, failed
}
