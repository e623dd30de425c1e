package pace

import (
	"math"
	"unsafe"
)

// state is what is kept of an account: no pointers, seconds unless said.
type state struct {
	last     int64   // nanoseconds: the last successful poll, or Add or Resume
	fast     float32 // posts, decayed with tauFast
	slow     float32 // posts, decayed with tauSlow
	observed float32 // seconds observed, decayed with tauSlow
	weight   short
	min, max short // 0: the default
	days     daily // when within the day it posts
	planned  short // the interval chosen last
	profile        // when within the hour it posts
	status   status
}

// BytesPerAccount is what a Pacer keeps of an account: its state, the entry in
// one of the three queues, and the place in each. One that waits for its turn has an
// entry more.
const BytesPerAccount = int(unsafe.Sizeof(state{})) + 8 + 3*4

// waits reports whether an account waits for its first poll at a place of its own.
func (s *state) waits() bool { return s.status == unsure && s.planned == 0 }

// status says where an account stands. From planned on, its next poll teaches
// the price.
type status uint8

const (
	absent   status = iota
	unsure          // not polled yet, or a bound was changed since
	failed          // backs off, or did before its next poll
	hurried         // goes first when its turn comes
	foremost        // goes first: its turn has come
	alarmed         // goes first: it is known to have posted
	planned         // by the price
	capped          // the price asked for a longer interval
	floored         // the price asked for a shorter interval
)

// first reports whether an account goes before those that are overdue.
func (s status) first() bool { return s == foremost || s == alarmed }

// hasty reports whether an account does so, or will.
func (s status) hasty() bool { return s >= hurried && s <= alarmed }

// short is a number from 0 on, rounded down to nine significant bits: the upper
// half of a float32 without its sign.
type short uint16

func shorten(x float64) short  { return short(math.Float32bits(float32(x)) >> 15) }
func (x short) value() float64 { return float64(math.Float32frombits(uint32(x) << 15)) }

// shortenUp is shorten that rounds up.
func shortenUp(x float64) short {
	y := shorten(x)
	if y.value() < x {
		y++
	}
	return y
}
