package dispatch

import (
	"testing"
	"time"
	"unsafe"
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

// A claim lasts, and a record is fresh, while both clocks say so: the monotonic clock stands
// still while the machine is suspended, and the wall clock may be set.
func TestClaimsAndRecordsEndByBothClocks(t *testing.T) {
	cfg, began := &Config{Timeout: 10 * time.Second}, time.Now()
	for _, row := range []struct {
		name            string
		wall, monotonic time.Duration // since the claim began, and the record was read
		covers, stored  bool          // stored is of a claim whose end is from a store: it has the wall clock alone
		fresh           bool
	}{
		{"both go on", 5 * time.Second, 5 * time.Second, true, true, true},
		{"nearly over", 35 * time.Second, 35 * time.Second, true, true, false},
		{"over", 36 * time.Second, 36 * time.Second, false, false, false},
		{"suspended for an hour", time.Hour, 5 * time.Second, false, false, false},
		{"the wall clock is set ahead", time.Minute, 5 * time.Second, false, false, false},
		{"the wall clock is set back a little", time.Second, 5 * time.Second, true, true, true},
		{"the wall clock is set back by an hour", 36*time.Second - time.Hour, 36 * time.Second, false, true, false},
	} {
		now := later(t, began, row.wall, row.monotonic)
		due := began.Add(45 * time.Second)
		if got := cfg.leaseCovers(due, now); got != row.covers {
			t.Errorf("%s: the claim covers an attempt: %t, want %t", row.name, got, row.covers)
		}
		if got := cfg.leaseCovers(due.Round(0), now); got != row.stored {
			t.Errorf("%s: the claim from a store covers an attempt: %t, want %t", row.name, got, row.stored)
		}
		l := lane{record: laneRecord{state: recordActive, readAt: began}}
		if got := l.fresh(now); got != row.fresh {
			t.Errorf("%s: the record is fresh: %t, want %t", row.name, got, row.fresh)
		}
	}
}
