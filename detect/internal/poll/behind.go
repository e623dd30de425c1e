package poll

import "time"

// Due returns when the poll of a target was due that is due again at the given time. These differ
// after Wait.
func (t *Target) Due(at int64) int64 {
	if w := t.waits(); w != nil && w.asked != 0 {
		return w.asked
	}
	return at
}

// Waited reports whether a poll of the target has waited: see Machine.Waited.
func (t *Target) Waited() bool {
	w := t.waits()
	return w != nil && (w.asked != 0 || w.behind)
}

// Wait records that a poll that was due cannot begin, because calls of its bucket must wait. late is
// how long the poll will have waited by then. If that is longer than every, the time between two
// polls, Wait returns true once.
func (m *Machine) Wait(slot int32, due int64, late, every time.Duration) (behind bool) {
	t := m.targets.At(slot)
	w := t.waiting()
	w.asked = max(1, due)
	if w.behind || t.odd.reported || every <= 0 || late <= every {
		return false
	}
	w.behind = true
	m.env.Count.Behind.Add(1)
	return true
}

// Waited records that a poll begins, which was due late ago, of a target that has Waited. It returns
// true if Wait has returned true before and the poll is again in time.
func (m *Machine) Waited(slot int32, late, every time.Duration) (caughtUp bool) {
	t := m.targets.At(slot)
	w := t.waits()
	w.asked = 0
	caughtUp = w.behind && late <= every/2 // less than every, so that it is not reported at each poll
	if caughtUp {
		m.catchUp(t)
	}
	t.tidy()
	return caughtUp
}

func (m *Machine) catchUp(t *Target) {
	if w := t.waits(); w != nil && w.behind {
		w.behind = false
		m.env.Count.Behind.Add(-1)
	}
}
