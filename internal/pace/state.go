package pace

import (
	"math"
	"unsafe"
)

// state is a Pacer's state of an account, without pointers. Times are in seconds, except last.
type state struct {
	last     int64   // nanoseconds: time of the last successful poll, or of Add or Resume
	fast     float32 // number of posts, decayed with tauFast
	slow     float32 // number of posts, decayed with tauSlow
	observed float32 // seconds of observation, decayed with tauSlow
	weight   short
	min, max short // 0 means the default
	days     daily // posts by part of the day
	planned  short // the interval chosen last
	profile        // posts by part of the hour
	status   status
}

// BytesPerAccount is a Pacer's memory per account: its state, an entry in one of the three
// queues, and an index into each queue. A hurried account that waits for its turn may have
// another entry.
const BytesPerAccount = int(unsafe.Sizeof(state{})) + 8 + 3*4

// waits reports whether an account waits for its first poll: see order.place.
func (s *state) waits() bool { return s.status == unsure && s.planned == 0 }

// status is the status of an account. With status planned, capped or floored, the account's next
// poll adjusts the price.
type status uint8

const (
	absent   status = iota
	unsure          // not polled yet, or a bound was changed since
	failed          // in a back-off, or between a back-off and the next successful poll
	hurried         // goes first when its turn comes
	foremost        // goes first: its turn has come
	alarmed         // goes first: it has certainly posted
	planned         // planned by the price
	capped          // the price asked for a longer interval
	floored         // the price asked for a shorter interval
)

// first reports whether an account goes before overdue accounts.
func (s status) first() bool { return s == foremost || s == alarmed }

// hasty reports whether an account goes first now, or will go first at its turn.
func (s status) hasty() bool { return s >= hurried && s <= alarmed }

// short is a number of at least 0, rounded down to nine significant bits: the upper half of
// a float32 without its sign.
type short uint16

func shorten(x float64) short  { return short(math.Float32bits(float32(x)) >> 15) }
func (x short) value() float64 { return float64(math.Float32frombits(uint32(x) << 15)) }

// shortenUp is shorten with rounding up.
func shortenUp(x float64) short {
	y := shorten(x)
	if y.value() < x {
		y++
	}
	return y
}
