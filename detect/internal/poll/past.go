package poll

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Past is a finished poll. It converts to detect.PastPoll. The fields are documented there.
type Past struct {
	Begun, Due         time.Time
	Read, Took         time.Duration
	Found              int
	Delay, LongestWait time.Duration
	First, Gap, Fill   bool
	Pushed             bool
	Error              string
}

// Remembered is how many polls of a shard's accounts are remembered: that many polls that found
// something or failed, and that many others. Each takes about 100 bytes, however many accounts
// there are.
const Remembered = 1024

// pastError limits the text of a remembered error, in bytes.
const pastError = 200

// Memory holds a Machine's last finished polls. It keeps polls that found something or failed apart
// from the many that found nothing. It belongs to the Machine's shard.
type Memory struct{ notable, quiet ring }

// ring keeps the last entries, at most Remembered.
type ring struct {
	list []entry
	next int // where the next entry goes
}

// entry is a Past without pointers, except for the error. Durations are in milliseconds.
type entry struct {
	hash           uint64
	begun          int64 // in Unix milliseconds
	slot           int32
	queued         int32
	read, took     int32
	found          int32
	delay, longest int32
	flags          uint8
	err            string
}

// Flags of an entry, in the order in which add sets them.
const (
	pastFirst = 1 << iota
	pastGap
	pastFill
	pastPushed
)

func (r *ring) add(e entry) {
	if len(r.list) < Remembered {
		r.list = append(r.list, e)
		return
	}
	if r.next >= len(r.list) {
		r.next = 0
	}
	r.list[r.next] = e
	r.next++
}

// each calls fn for the entries, newest first.
func (r *ring) each(fn func(*entry)) {
	n := len(r.list)
	for i := range n {
		fn(&r.list[(r.next-1-i+2*n)%n])
	}
}

// add records a poll that ends now. err is the error of the poll's commit.
func (m *Memory) add(p *Poll, end time.Time, err error) {
	out := &p.Out
	if err == nil {
		err = out.Err
	}
	e := entry{hash: p.Hash, slot: p.Slot, begun: out.Begun.UnixMilli(), queued: millis(out.Begun.Sub(p.At)), took: millis(end.Sub(out.Begun)),
		found: int32(len(p.Found))}
	for i, is := range [...]bool{p.Plan.First, p.Opened != nil, p.Plan.Gap != nil, p.Plan.Pushed} {
		if is {
			e.flags |= 1 << i
		}
	}
	if n := len(out.Pages); n > 0 {
		e.read = millis(out.Pages[n-1].At.Sub(out.Begun))
	}
	if len(p.Found) > 0 && e.flags&(pastFirst|pastFill) == 0 {
		var sum, longest time.Duration
		for _, at := range p.Found {
			delay := max(0, end.Sub(at))
			sum, longest = sum+delay, max(longest, delay)
		}
		e.delay, e.longest = millis(sum/time.Duration(len(p.Found))), millis(longest)
	}
	if err != nil {
		e.err = strings.Clone(invalid.Cut(fmt.Sprint(err), pastError)) // Sprint, because err may be a nil pointer
	}
	of := &m.quiet
	if err != nil || e.found > 0 || e.flags&(pastGap|pastFill) != 0 {
		of = &m.notable
	}
	of.add(e)
}

func millis(d time.Duration) int32 { return int32(min(max(d.Milliseconds(), 0), math.MaxInt32)) }

func (e *entry) form() Past {
	ms := func(n int32) time.Duration { return time.Duration(n) * time.Millisecond }
	begun := time.UnixMilli(e.begun)
	return Past{Begun: begun, Due: begun.Add(-ms(e.queued)), Read: ms(e.read), Took: ms(e.took), Found: int(e.found),
		Delay: ms(e.delay), LongestWait: ms(e.longest), First: e.flags&pastFirst != 0, Gap: e.flags&pastGap != 0,
		Fill: e.flags&pastFill != 0, Pushed: e.flags&pastPushed != 0, Error: e.err}
}

// maxPast limits how many polls Past returns.
const maxPast = 200

// Past returns the remembered polls of a target, newest first. hash is the hash of the target's
// key.
func (m *Memory) Past(hash uint64) (list []Past) {
	for _, of := range []*ring{&m.notable, &m.quiet} {
		of.each(func(e *entry) {
			if e.hash == hash {
				list = append(list, e.form())
			}
		})
	}
	slices.SortStableFunc(list, func(a, b Past) int { return b.Begun.Compare(a.Begun) })
	return list[:min(len(list), maxPast)]
}

// Delays calls fn for each target with remembered polls that found posts. mean is the mean time
// from publication to commit of these posts. The slot may now belong to another target, with
// another hash.
func (m *Memory) Delays(fn func(slot int32, hash uint64, mean time.Duration)) {
	type target struct {
		slot int32
		hash uint64
	}
	sums := map[target]struct{ delay, found int64 }{}
	m.notable.each(func(e *entry) {
		if e.flags&(pastFirst|pastFill) != 0 || e.found == 0 {
			return
		}
		at := target{e.slot, e.hash}
		sum := sums[at]
		sum.delay += int64(e.delay) * int64(e.found)
		sum.found += int64(e.found)
		sums[at] = sum
	})
	for t, sum := range sums {
		fn(t.slot, t.hash, time.Duration(sum.delay/sum.found)*time.Millisecond)
	}
}
