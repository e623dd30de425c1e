package breaker

import "time"

const (
	window  = time.Minute
	slots   = 12   // parts of the window: it is 55 to 60 s long
	least   = 10   // attempts in the window from which it can open
	share   = 0.70 // of the attempts failed from which it opens
	first   = 30 * time.Second
	longest = 10 * time.Minute
)

// Breaker keeps requests from an endpoint that fails nearly all of them. It
// opens for 30 s; then one attempt, the probe, decides: a success closes it, a
// failure opens it for twice as long, up to 10 minutes. Times are from one
// clock and never step back. The zero value is closed.
type Breaker struct {
	epoch  time.Time // beginning of slot 0
	newest int64     // slot of the latest attempt
	counts [slots]struct{ all, failed uint32 }

	open  time.Duration // how long it opened for; 0 when closed
	until time.Time     // when the probe may be made
}

// Record counts an attempt that has ended. If that opens the breaker, Record returns for
// how long no attempt may begin, else 0.
func (b *Breaker) Record(now time.Time, ok bool) time.Duration {
	if b.open > 0 {
		switch {
		case now.Before(b.until): // it was under way when the breaker opened
			return 0
		case ok:
			*b = Breaker{}
			return 0
		}
		return b.trip(now, min(2*b.open, longest))
	}
	all, failed := b.count(now, ok)
	if ok || all < least || float64(failed) < share*float64(all) {
		return 0
	}
	return b.trip(now, first)
}

// Open reports whether the breaker is open, or waits for the outcome of the probe.
func (b *Breaker) Open() bool { return b.open > 0 }

func (b *Breaker) trip(now time.Time, open time.Duration) time.Duration {
	*b = Breaker{open: open, until: now.Add(open)}
	return open
}

// count adds an attempt to the window, and returns the sums of the window.
func (b *Breaker) count(now time.Time, ok bool) (all, failed uint64) {
	if b.epoch.IsZero() {
		b.epoch = now
	}
	slot := int64(now.Sub(b.epoch) / (window / slots))
	b.newest = max(b.newest, slot-slots)
	for b.newest < slot {
		b.newest++
		b.counts[b.newest%slots].all, b.counts[b.newest%slots].failed = 0, 0
	}
	s := &b.counts[slot%slots]
	s.all++
	if !ok {
		s.failed++
	}
	for _, s := range b.counts {
		all, failed = all+uint64(s.all), failed+uint64(s.failed)
	}
	return all, failed
}

// Until returns when an open breaker allows the probe, zero for a closed breaker.
func (b *Breaker) Until() time.Time { return b.until }
