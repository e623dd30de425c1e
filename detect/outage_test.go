package detect

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// After an outage of the store all accounts are read again within a minute, with an interval
// or without one.
func TestStoreOutageUnderABudget(t *testing.T) {
	for _, interval := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := paced(t, w, 10, nil)
			defer start(t, d)()
			names := accountNames(20)
			set(t, d, bounded("m", interval, 1, names...))
			after(5 * time.Minute)
			w.setCommitErr(func([]*Batch) error { return errors.New("down") })
			after(20 * time.Minute)
			w.setCommitErr(nil)
			for _, name := range names {
				w.publish(name, "post of "+name, 0)
			}
			after(75 * time.Second) // a minute, and what jitter adds
			if n := len(w.got()); n != len(names) {
				t.Errorf("interval %s: %d of %d posts", interval, n, len(names))
			}
		})
	}
}
