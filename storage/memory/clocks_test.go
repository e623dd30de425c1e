package memory_test

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// later returns t as the machine shows it after its clocks have gone on by so much: only the
// runtime can read clocks that disagree.
func later(t *testing.T, from time.Time, wall, monotonic time.Duration) time.Time {
	t.Helper()
	now := from.Add(wall)
	(*struct {
		wall uint64
		ext  int64 // the reading of the monotonic clock
		loc  *time.Location
	})(unsafe.Pointer(&now)).ext += int64(monotonic - wall)
	if w, m := now.Round(0).Sub(from.Round(0)), now.Sub(from); w != wall || m != monotonic {
		t.Fatalf("%s have passed by the wall clock and %s by the monotonic one, want %s and %s", w, m, wall, monotonic)
	}
	return now
}

// Claims and waits end by the clock that says so first: the monotonic clock stands still while
// the machine is suspended, and the wall clock may be set.
func TestClaimsEndByBothClocks(t *testing.T) {
	for _, row := range []struct {
		name            string
		wall, monotonic time.Duration // since the claims, of a minute, and the wait, of an hour, began
		want            string        // claimed
	}{
		{"both go on", 59 * time.Second, 59 * time.Second, ""},
		{"the claims are over", time.Minute, time.Minute, "1 2 3"},
		{"suspended for a little", 50 * time.Second, 5 * time.Second, ""},
		{"suspended until the claims are over", time.Minute, 5 * time.Second, "1 2 3"},
		{"suspended for an hour", time.Hour, 5 * time.Second, "1 2 3 waits"},
		{"the wall clock is set back by an hour", time.Minute - time.Hour, time.Minute, "1 2 3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := time.Now()
			s := memory.New(memory.Options{Now: func() time.Time { return now }})
			for _, tweet := range []string{"waits", "1", "2", "3"} {
				commitAt(t, s, now, handled(acme, tweet, fmt.Sprint("handler ", len(tweet))))
			}
			ds := claim(t, s, now, 10)
			want(t, "claimed at first", tweetIDs(ds), "waits 1 2 3")
			must(t, s.Outbox().Settle(t.Context(), deliver.Settlement{
				DeliveryID: ds[0].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateRetrying, Due: now.Add(time.Hour),
			}))
			now = later(t, now, row.wall, row.monotonic)
			due, open, err := s.Outbox().NextDue(t.Context(), nil)
			must(t, err)
			want(t, "something is due", open && !due.After(now), row.want != "")
			want(t, "claimed", tweetIDs(claim(t, s, now, 10)), row.want)
			want(t, "claimed again", tweetIDs(claim(t, s, now, 10)), "")
		})
	}
}
