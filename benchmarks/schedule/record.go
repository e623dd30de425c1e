package main

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect"
)

// record notes who was polled when. A poll costs it a clock reading and two
// atomic writes; everything else is worked out afterwards.
type record struct {
	base  time.Time    // times below count from here
	from  atomic.Int64 // ns: what came before is not noted
	n     atomic.Int64
	polls []atomic.Uint64 // account << 32 | µs after from + 1; 0: not written yet
	waste atomic.Int64    // bytes that each poll allocates
	sink  atomic.Pointer[byte]
}

// never is before anything is recorded.
const never = 1<<63 - 1

// newRecord has room for so many polls; more are not noted, and count as lost.
func newRecord(room, garbage int) *record {
	r := &record{base: time.Now(), polls: make([]atomic.Uint64, room)}
	r.from.Store(never)
	r.waste.Store(int64(garbage))
	return r
}

// poll is what every contestant calls.
func (r *record) poll(account int) {
	at := int64(time.Since(r.base))
	if from := r.from.Load(); at >= from {
		if i := r.n.Add(1) - 1; i < int64(len(r.polls)) {
			r.polls[i].Store(uint64(account)<<32 | uint64((at-from)/int64(time.Microsecond)+1))
		}
	}
	if n := r.waste.Load(); n > 0 {
		r.sink.Store(&make([]byte, n)[0])
	}
}

// begin notes polls from now on.
func (r *record) begin() { r.from.Store(int64(time.Since(r.base))) }

// result is what became of the polls that were due in a window.
type result struct {
	expected, made int
	lost, extra    int     // polls that an account had too few or too many
	lags           []int32 // µs, sorted; a lost poll's until watching ended
}

// early is how far before its due time a poll counts for it: timers in whole
// milliseconds may round down.
const early = 2 * time.Millisecond

// result looks at the polls due in the time d after begin, and watched until
// now. A call belongs to the last due time before it, so one that is a whole
// period late is lost.
func (r *record) result(accounts int, period, d time.Duration, now time.Time) result {
	start := r.base.UnixNano() + r.from.Load()
	step, end := int64(period), start+int64(d)
	balance := make([]int32, accounts) // polls expected and not made
	phases := make([]int64, accounts)
	var res result
	for i := range accounts {
		phases[i] = int64(detect.Phase(username(i), period))
		// Due times up to t are floor((t - phase) / step) in number.
		want := (end-1-phases[i])/step - (start-1-phases[i])/step
		balance[i] = int32(want)
		res.expected += int(want)
	}
	n := min(r.n.Load(), int64(len(r.polls)))
	res.lags = make([]int32, 0, n)
	for i := range n {
		p := r.polls[i].Load()
		if p == 0 {
			continue
		}
		account := p >> 32
		at := start + (int64(p&0xffffffff)-1)*int64(time.Microsecond)
		lag := (at+int64(early)-phases[account])%step - int64(early)
		if due := at - lag; due < start || due >= end {
			continue
		}
		balance[account]--
		res.made++
		res.lags = append(res.lags, int32(lag/int64(time.Microsecond)))
	}
	until := start - r.from.Load() + int64(now.Sub(r.base))
	for i, b := range balance {
		last := end - 1 - (end-1-phases[i])%step // the last due time
		for ; b > 0; b-- {
			res.lost++
			res.lags = append(res.lags, int32((until-last)/int64(time.Microsecond)))
			last -= step
		}
		res.extra += int(-b)
	}
	slices.Sort(res.lags)
	return res
}

// quantile of the lags in ms, 0 when there are none.
func (r *result) quantile(q float64) float64 {
	if len(r.lags) == 0 {
		return 0
	}
	return float64(r.lags[min(int(q*float64(len(r.lags))), len(r.lags)-1)]) / 1000
}
