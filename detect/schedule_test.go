package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/shards"
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

// Accounts lie in memory in the order in which they are polled.
func TestAccountsLieInTheOrderOfTheirPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWorld().detector(t, func(c *settings) { c.Shards = 1 })
		defer start(t, d)()
		s := sub("m", accountNames(100)...)
		set(t, d, s)
		if err := d.shards[0].Ask(t.Context(), func(sh *shards.Shard) {
			table := sh.Accounts
			for slot := int32(1); slot < table.Size(); slot++ {
				if before, it := table.Username(slot-1), table.Username(slot); Phase(before, s.Interval) > Phase(it, s.Interval) {
					t.Errorf("%s lies before %s, whose phase is lower", before, it)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
	})
}
