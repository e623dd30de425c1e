package poll

import (
	"math"
	"time"
)

// Target is a Machine's state of one target. There may be millions of targets. State that few of
// them have is in odd.
type Target struct {
	odd     *odd
	skew    int32 // how far our clock was ahead in the last poll, in seconds, rounded away from 0
	Watched bool  // somebody subscribes to it; an unwatched target is released after its poll
	Polled  bool  // from the start of a poll until its commit is settled
	same    uint8 // consecutive answers that the first page is unchanged, at most 255
	marks   Marks
}

// Marks are boolean properties of a Target and, from hid on, the number of consecutive audits that
// found posts which unchanged pages had hidden, at most hides.
type Marks uint8

const (
	Alone    Marks = 1 << iota // the target shares no call with other accounts
	dropped                    // a post of it was dropped and logged
	misdated                   // a post of it was dated too early, and that was logged
	honest                     // the platform has said that a page had changed, when asked
	hid
	hides = 3
)

// Is reports whether a mark is set.
func (t *Target) Is(m Marks) bool { return t.marks&m != 0 }

// Mark sets or clears a mark.
func (t *Target) Mark(m Marks, on bool) {
	t.marks &^= m
	if on {
		t.marks |= m
	}
}

// odd is the state of a target that fails, waits for a call, has gaps or has pushed posts that wait.
type odd struct {
	err             error    // error of the last failure
	due, first      int64    // Unix ns: when the first failed poll or commit was due, and when the first poll failed
	gaps            []Gap    // ranges that could not be read
	waits           *waiting // nil if nothing waits
	failures, count uint16   // consecutive failures of polls and commits, and of polls alone
	contact         uint32   // Unix seconds of the last page, if it came after the last whole poll
	tries           uint8    // consecutive failed fills
	byName          bool     // not found by its id: the next poll asks by name alone
	reported        bool     // the failures were reported to OnTrouble
	logged          bool     // the failures were logged
}

// waiting holds the work that waits until a target's poll has ended, and the poll that waits for a
// call.
type waiting struct {
	held   []Push // posts pushed during the poll
	due    int64  // if late: when the poll that could not begin was due
	asked  int64  // when the poll that waits for a call was due, on the detector's clock; 0 for none
	late   bool
	behind bool // a poll has waited for longer than the interval, as reported to OnTrouble
}

// change returns the odd state. It creates the state if the target has none. Call tidy after
// changing it.
func (t *Target) change() *odd {
	if t.odd == nil {
		t.odd = &odd{}
	}
	return t.odd
}

// tidy frees the odd state if it is empty.
func (t *Target) tidy() {
	o := t.odd
	if o != nil && o.waits != nil && len(o.waits.held) == 0 && !o.waits.late && o.waits.asked == 0 && !o.waits.behind {
		o.waits = nil
	}
	if o != nil && o.failures == 0 && o.contact == 0 && o.tries == 0 && len(o.gaps) == 0 && o.waits == nil {
		t.odd = nil
	}
}

// fails reports whether the last poll or commit failed.
func (t *Target) fails() bool { return t.odd != nil && t.odd.failures > 0 }

func (t *Target) setTries(n uint8) {
	if n != 0 || t.odd != nil {
		t.change().tries = n
		t.tidy()
	}
}

func (t *Target) tries() uint8 {
	if t.odd == nil {
		return 0
	}
	return t.odd.tries
}

func (t *Target) setContact(sec uint32) {
	if sec != 0 || t.odd != nil {
		t.change().contact = sec
		t.tidy()
	}
}

// failed counts a failure of a poll or commit that was due at the given time.
func (t *Target) failed(due time.Time, err error) *odd {
	o := t.change()
	if o.failures == 0 {
		o.due = due.UnixNano()
	}
	if o.failures < math.MaxUint16 {
		o.failures++
	}
	o.err = err
	return o
}

// recovered clears the failures.
func (t *Target) recovered() {
	o := t.odd
	o.err, o.due, o.first, o.failures, o.count = nil, 0, 0, 0, 0
	o.byName, o.reported, o.logged = false, false, false
	t.tidy()
}

// setSkew stores how far our clock is ahead. The next poll reads back further by that time.
func (t *Target) setSkew(ahead time.Duration) {
	sec := (ahead + time.Second - 1) / time.Second
	if ahead < 0 {
		sec = (ahead - time.Second + 1) / time.Second
	}
	t.skew = int32(min(max(sec, math.MinInt32), math.MaxInt32))
}

// Skew returns how far our clock was ahead of the upstream's in the last poll, 0 if they roughly
// agreed.
func (t *Target) Skew() time.Duration { return time.Duration(t.skew) * time.Second }

// Failures returns how many polls and commits failed in a row.
func (t *Target) Failures() int {
	if t.odd == nil {
		return 0
	}
	return int(t.odd.failures)
}

// Trouble returns the last error of a target that fails, nil if it does not fail. It also returns
// whether the failures were reported to the subscribers.
func (t *Target) Trouble() (err error, reported bool) {
	if t.odd == nil {
		return nil, false
	}
	return t.odd.err, t.odd.reported
}

// Gaps returns the ranges that could not be read. Do not change the slice.
func (t *Target) Gaps() []Gap {
	if t.odd == nil {
		return nil
	}
	return t.odd.gaps
}

// Contact returns when the last page arrived. ok is false if a whole poll read that page: then
// Targets has the time.
func (t *Target) Contact() (at time.Time, ok bool) {
	if t.odd == nil || t.odd.contact == 0 {
		return time.Time{}, false
	}
	return time.Unix(int64(t.odd.contact), 0), true
}
