package detect

import (
	"testing"
	"testing/synctest"
	"time"
)

// testAlarm notes when an alarm rings, and has what a shard's loop has.
type testAlarm struct {
	*alarm
	bell chan struct{}
}

func newTestAlarm(t *testing.T, d *Detector) *testAlarm {
	bell := make(chan struct{}, 1)
	a := &testAlarm{newAlarm(d, func() { bell <- struct{}{} }), bell}
	t.Cleanup(a.stop)
	return a
}

// next waits for the bell, and gives the time.
func (a *testAlarm) next() time.Duration {
	<-a.bell
	at := time.Duration(a.clock())
	a.rung()
	return at
}

func TestAlarm(t *testing.T) {
	const ms = time.Millisecond
	run := func(name string, f func(t *testing.T, d *Detector)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, &Detector{epoch: time.Now()}) })
		})
	}
	rings := func(t *testing.T, a *testAlarm, want time.Duration) {
		t.Helper()
		if at := a.next(); at != want {
			t.Errorf("rings at %v, want %v", at, want)
		}
	}
	run("is exact while polls are far apart", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		for _, due := range []time.Duration{10*ms + 1, 20 * ms, 25*ms + 300} {
			a.set(int64(due), false)
			rings(t, a, due)
		}
	})
	run("is exact for the first of many", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		a.set(int64(ms/2), false)
		rings(t, a, ms/2)
	})
	run("goes in beats while polls are close", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		a.set(int64(ms/2), false)
		at := a.next()
		for range 5 {
			a.set(int64(at+ms/10), false)
			rings(t, a, at+time.Duration(beat))
			at += time.Duration(beat)
		}
	})
	run("gives up a beat that no poll needs", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		a.set(int64(ms/2), false)
		a.next()
		a.set(int64(50*ms), false)
		rings(t, a, 50*ms)
	})
	run("follows a poll that comes in between", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		a.set(int64(time.Minute), false)
		a.set(int64(7*ms), false)
		rings(t, a, 7*ms)
	})
	run("rings at once for what is late", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		a.set(-int64(time.Second), false)
		rings(t, a, 0)
	})
	run("is exact when asked to be", func(t *testing.T, d *Detector) {
		a := newTestAlarm(t, d)
		for due := ms; due < 5*ms; due += ms / 4 {
			a.set(int64(due), true)
			rings(t, a, due)
		}
	})
	run("shares its beats", func(t *testing.T, d *Detector) {
		a, b := newTestAlarm(t, d), newTestAlarm(t, d)
		a.set(int64(ms), false)
		b.set(int64(ms+ms/2), false)
		a.next()
		a.set(int64(ms+ms/4), false)
		b.next()
		b.set(int64(2*ms), false)
		rings(t, a, ms+time.Duration(beat))
		rings(t, b, ms+time.Duration(beat))
	})
}
