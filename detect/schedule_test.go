package detect

import (
	"testing"
	"testing/synctest"
	"time"
)

// A monitor's new interval holds for the accounts that it has.
func TestIntervalChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		s := sub("m", "nasa")
		for _, interval := range []time.Duration{10 * time.Second, 2 * time.Second, 30 * time.Second} {
			s.Interval = interval
			set(t, d, s)
			after(time.Minute)
			before := len(w.callTimes("nasa"))
			after(10 * time.Minute)
			if got, want := len(w.callTimes("nasa"))-before, int(10*time.Minute/interval); got != want {
				t.Errorf("%d polls in 10 minutes, want %d, one each %s", got, want, interval)
			}
		}
	})
}
