package enginetest

import (
	"container/heap"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// streamEvent is a post that was made, edited or deleted.
type streamEvent struct {
	at      time.Time // when the stream sends it
	kind    fetcher.SignalKind
	Post    *post
	account *account
	order   int // among events of the same moment
}

// streamLog has the past and future events of a stream.
type streamLog struct {
	events []streamEvent // past events, by time; a position is an index
	due    dueEvents     // future events
	hidden []streamEvent // past events of accounts that were closed then
	made   int
}

// dueEvents is a heap of events by time.
type dueEvents []streamEvent

func (d dueEvents) Len() int      { return len(d) }
func (d dueEvents) Swap(i, k int) { d[i], d[k] = d[k], d[i] }
func (d dueEvents) Less(i, k int) bool {
	if c := d[i].at.Compare(d[k].at); c != 0 {
		return c < 0
	}
	return d[i].order < d[k].order
}
func (d *dueEvents) Push(e any) { *d = append(*d, e.(streamEvent)) }
func (d *dueEvents) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	*d = slices.Delete(*d, last, last+1)
	return e
}

func (l *streamLog) push(e streamEvent) {
	l.made++
	e.order = l.made
	heap.Push(&l.due, e)
}

// streamers are the streamers of a platform.
type streamers []*PlatformStreamer

// announce adds an event of a post to all streams.
func (all streamers) announce(kind fetcher.SignalKind, po *post, a *account) {
	for _, s := range all {
		now := s.platform.cfg.Now()
		s.announce(kind, po, a, now)
		s.ring()
	}
}

// announce adds an event to the log, with the faults Drop, Duplicate and Disorder. Every post draws
// the same number of random values.
func (s *PlatformStreamer) announce(kind fetcher.SignalKind, po *post, a *account, now time.Time) {
	at := now
	if po.visible.After(at) {
		at = po.visible
	}
	e := streamEvent{at: at.Add(s.cfg.Lag), kind: kind, Post: po, account: a}
	if kind != fetcher.SignalPost {
		s.log.push(e)
		return
	}
	f := &s.cfg.Faults
	dropped, doubled := s.data.Float64() < f.Drop, s.data.Float64() < f.Duplicate
	first, second := s.data.Float64(), s.data.Float64()
	if dropped {
		s.stats.Dropped++
		return
	}
	again := e
	e.at = e.at.Add(time.Duration(first * float64(f.Disorder)))
	s.log.push(e)
	if doubled {
		s.stats.Duplicated++
		again.at = again.at.Add(time.Duration(second * float64(f.Disorder)))
		s.log.push(again)
	}
}

// opened sends an account's posts that were hidden while it was closed.
func (all streamers) opened(a *account, now time.Time) {
	for _, s := range all {
		hidden := s.log.hidden
		s.log.hidden = nil
		for _, e := range hidden {
			if e.account != a {
				s.log.hidden = append(s.log.hidden, e)
				continue
			}
			e.at = now.Add(s.cfg.Lag)
			s.log.push(e)
		}
		s.ring()
	}
}

// advance moves due events to the log.
func (s *PlatformStreamer) advance(now time.Time) {
	l := &s.log
	for len(l.due) > 0 && !l.due[0].at.After(now) {
		e := heap.Pop(&l.due).(streamEvent)
		switch {
		case e.account.hides(e.Post):
			l.hidden = append(l.hidden, e)
		case !e.Post.appeared():
		default:
			l.events = append(l.events, e)
		}
	}
}

// position returns the position for an index in the log.
func (s *PlatformStreamer) position(next int) string {
	if s.cfg.NoPositions {
		return ""
	}
	return fmt.Sprintf("%d.%d", s.number, next)
}

// index is the inverse of position. It reports false for a position that this streamer did not make.
func (s *PlatformStreamer) index(position string) (int, bool) {
	var next int
	if _, err := fmt.Sscanf(position, strconv.Itoa(s.number)+".%d", &next); err != nil {
		return 0, false
	}
	return next, next >= 0 && next <= len(s.log.events) && position == s.position(next)
}
