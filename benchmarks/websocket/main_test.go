package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRoundCountsEveryFrameOfThoseWhoRead(t *testing.T) {
	for _, stalled := range []int{0, 5} {
		h, err := round(settings{clients: 20, stalled: stalled, every: time.Millisecond}, stalled, 10*time.Millisecond)
		if want := int64(20-stalled) * 10; err != nil || h.Count() != want {
			t.Errorf("%d stalled: %d frames, %v; want %d", stalled, h.Count(), err, want)
		}
	}
}

func TestSettings(t *testing.T) {
	for says, s := range map[string]settings{
		"":             {clients: 10, stalled: 9, every: time.Second},
		"-clients 0":   {stalled: 0, every: time.Second},
		"-stalled 10 ": {clients: 10, stalled: 10, every: time.Second},
		"-every 1µs":   {clients: 10, every: time.Microsecond},
	} {
		if err := s.check(); says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%+v: %v, want %q", s, err, says)
		}
	}
}
