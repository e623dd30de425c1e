package schedule

import (
	"testing"
	"time"
)

// An account that is to be polled at once stays so when a subscriber joins that can wait, and
// when its polls begin to rest.
func TestHurriedAccountStaysSo(t *testing.T) {
	for name, first := range map[string]First{"spread": Spread, "anew": Anew, "planned": Planned} {
		s := NewByInterval(fixed(time.Minute), time.Unix(0, 0))
		s.Set(7, 12*second, Ask{Interval: time.Minute}, AtOnce)
		s.Set(7, 12*second+second/5000, Ask{Interval: 30 * time.Minute}, first)
		s.Set(7, 13*second, Ask{Interval: 30 * time.Minute}, first)
		if at, ok := s.At(7); !ok || at != 12*second {
			t.Errorf("%s: due at %s, %t, want 12s", name, time.Duration(at), ok)
		}
	}
}

// A subscriber that can wait does not put off a poll that is planned. Polls that begin to rest
// do.
func TestPlannedPollStaysOrRests(t *testing.T) {
	for name, row := range map[string]struct {
		first First
		due   int64 // in seconds
	}{"spread": {Spread, 30}, "anew": {Anew, 30 * 60}} {
		s := NewByInterval(fixed(time.Minute), time.Unix(0, 0))
		s.Put(7, 30*second, Rested)
		s.Set(7, 12*second, Ask{Interval: 30 * time.Minute}, row.first)
		if at, ok := s.At(7); !ok || at/second != row.due {
			t.Errorf("%s: due at %s, %t, want %d s", name, time.Duration(at), ok, row.due)
		}
	}
}
