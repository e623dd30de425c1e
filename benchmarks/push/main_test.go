package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// With the stream nothing is lost or doubled, and the median waits for nothing but the
// platform; without it the same calls find posts minutes later.
func TestCases(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			w := world{streamCase: c, accounts: 20, lasts: 4 * time.Hour}
			o, err := w.inVirtualTime(t, 0)
			if err != nil {
				t.Fatal(err)
			}
			if o.lost+o.doubled != 0 || o.posts < 50 || o.p50 < 0 || o.p50 > 250*time.Millisecond {
				t.Errorf("%+v, want all posts once, half of them within 250 ms", o)
			}
			if c.faults.DisconnectAfter > 0 && o.disconnects < 50 {
				t.Errorf("%d disconnects, want one about every 75 s", o.disconnects)
			}
			alone, err := w.inVirtualTime(t, o.calls)
			if err != nil {
				t.Fatal(err)
			}
			if alone.lost+alone.doubled != 0 || alone.p50 < 10*time.Second || alone.calls > o.calls*11/10 {
				t.Errorf("polls alone %+v, want all posts once and minutes later with %d calls", alone, o.calls)
			}
		})
	}
}

func TestRealTime(t *testing.T) {
	o, err := inRealTime(t.Context(), 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if o.lost+o.doubled != 0 || o.posts == 0 || o.p50 <= 0 {
		t.Errorf("%+v, want all posts once", o)
	}
}

func TestJudge(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	h := &handled{at: map[string][]time.Time{
		"old": {at.Add(-time.Minute)}, "a": {at.Add(3 * time.Second)}, "b": {at.Add(5 * time.Second), at.Add(6 * time.Second)},
	}}
	truth := []enginetest.Truth{{ID: "old", VisibleAt: at.Add(-time.Hour)}, {ID: "a", VisibleAt: at}, {ID: "b", VisibleAt: at}, {ID: "c", VisibleAt: at}}
	var o outcome
	h.judge(&o, truth, at, time.Second)
	if o != (outcome{posts: 4, lost: 1, doubled: 1, p50: 4 * time.Second, p99: 4 * time.Second}) {
		t.Errorf("%+v", o)
	}
}
