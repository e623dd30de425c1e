package storetest

import (
	"testing"
	"time"
)

func TestLatencies(t *testing.T) {
	var l latencies
	if got := l.share(99); got != 0 {
		t.Errorf("p99 of no call is %v, want 0", got)
	}
	for i := range 200 {
		l.took = append(l.took, time.Duration(200-i))
	}
	for percent, want := range map[int]time.Duration{1: 2, 50: 100, 99: 198, 100: 200} {
		if got := l.share(percent); got != want {
			t.Errorf("p%d of 1 to 200 ns is %v, want %v", percent, got, want)
		}
	}
	l.add(time.Now())
	if len(l.took) != 201 {
		t.Errorf("%d calls are recorded, want 201", len(l.took))
	}
}
