package poll

import (
	"errors"
	"testing"
	"time"
	"unsafe"
)

// Of millions of targets all may fail at a time.
func TestSizes(t *testing.T) {
	if target, of := unsafe.Sizeof(Target{}), unsafe.Sizeof(odd{}); target > 16 || of > 80 {
		t.Errorf("%d bytes of a target and %d of one that fails, want at most 16 and 80", target, of)
	}
}

// A target keeps nothing once what was odd about it is over, in whatever order.
func TestTargetKeepsNothingOdd(t *testing.T) {
	type step struct{ begin, end func(m *Machine, t *Target) }
	steps := map[string]step{
		"fails": {func(_ *Machine, t *Target) { t.failed(time.Unix(1, 0), errors.New("down")).byName = true },
			func(_ *Machine, t *Target) { t.recovered() }},
		"has gaps": {func(m *Machine, _ *Target) { m.setGaps(0, []Gap{{Resume: "a"}}) },
			func(m *Machine, _ *Target) { m.setGaps(0, nil) }},
		"a gap resists":   {func(_ *Machine, t *Target) { t.setTries(2) }, func(_ *Machine, t *Target) { t.setTries(0) }},
		"answers by half": {func(_ *Machine, t *Target) { t.setContact(9) }, func(_ *Machine, t *Target) { t.setContact(0) }},
		"posts wait": {func(m *Machine, t *Target) { t.Polled = true; m.Push(0, Push{Number: 1}) },
			func(m *Machine, _ *Target) { m.dropPushed(0); m.targets.At(0).tidy() }},
	}
	for first, a := range steps {
		for second, b := range steps {
			env := &Env{On: Callbacks{Pushed: func(Kind, []uint64) {}}}
			m := NewMachine(env, &Times{}, Traits{}, &one{}, nil)
			target := m.targets.At(0)
			a.begin(m, target)
			b.begin(m, target)
			if target.odd == nil {
				t.Fatalf("%s and %s: nothing is kept", first, second)
			}
			a.end(m, target)
			if second != first {
				b.end(m, target)
			}
			if target.odd != nil {
				t.Errorf("%s and %s: %+v is kept", first, second, *target.odd)
			}
		}
	}
}

// The difference of clocks is rounded away from zero: a poll reads back too far, not too little.
func TestSkewIsRoundedUp(t *testing.T) {
	for skew, want := range map[time.Duration]time.Duration{
		0: 0, 1: time.Second, time.Second: time.Second, 3100 * time.Millisecond: 4 * time.Second, -2500 * time.Millisecond: -3 * time.Second,
	} {
		var target Target
		if target.setSkew(skew); target.Skew() != want {
			t.Errorf("%s is kept as %s, want %s", skew, target.Skew(), want)
		}
	}
}
