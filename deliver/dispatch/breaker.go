package dispatch

import "time"

const (
	breakerWindow  = time.Minute
	breakerSlots   = 12   // parts of the window: it is 55 to 60 s long
	breakerLeast   = 10   // attempts in the window before it can open
	breakerShare   = 0.70 // of them failed
	breakerFirst   = 30 * time.Second
	breakerLongest = 10 * time.Minute
)

// breaker keeps requests from an endpoint that fails nearly all of them. It
// opens for 30 s; then one attempt, the probe, decides: a success closes it, a
// failure opens it for twice as long, up to 10 minutes. Times are from one
// clock and never step back.
type breaker struct {
	epoch  time.Time // where slots are counted from
	newest int64     // slot of the latest attempt
	slots  [breakerSlots]struct{ all, failed uint32 }

	open  time.Duration // how long it opened for; 0 when closed
	until time.Time     // when the probe may be made
}

// record counts an attempt that has ended, and says for how long none may begin
// now, 0 for no time.
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

func (b *breaker) trip(now time.Time, open time.Duration) time.Duration {
	*b = breaker{open: open, until: now.Add(open)}
	return open
}

// count adds an attempt to the window, and sums it up.
func (b *breaker) count(now time.Time, ok bool) (all, failed uint64) {
	if b.epoch.IsZero() {
		b.epoch = now
	}
	slot := int64(now.Sub(b.epoch) / (breakerWindow / breakerSlots))
	b.newest = max(b.newest, slot-breakerSlots)
	for b.newest < slot {
		b.newest++
		b.slots[b.newest%breakerSlots].all, b.slots[b.newest%breakerSlots].failed = 0, 0
	}
	s := &b.slots[slot%breakerSlots]
	s.all++
	if !ok {
		s.failed++
	}
	for _, s := range b.slots {
		all, failed = all+uint64(s.all), failed+uint64(s.failed)
	}
	return all, failed
}
