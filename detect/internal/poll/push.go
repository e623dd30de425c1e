package poll

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Push is a post that a stream has brought, at a time.
type Push struct {
	Number uint64 // for Callbacks.Pushed
	Post   fetcher.Tweet
	At     time.Time
}

// Pushes are a Machine's polls that read nothing: a stream has brought the posts.
type Pushes struct {
	m    *Machine
	held map[int32][]Push // until the target is not being polled
	late map[int32]int64  // when a target was due that was being polled already: see Late
	turn []int32          // targets from late whose poll goes before the posts that wait
}

// Add judges posts of a target that a stream has brought, and has what is new committed.
// While the target is being polled, they wait.
func (s *Pushes) Add(slot int32, polled bool, posts ...Push) {
	if polled || slices.Contains(s.turn, slot) {
		s.held[slot] = append(s.held[slot], posts...)
	} else {
		s.begin(slot, posts)
	}
}

// Late notes that a target was due at a time at which it was being polled already: pushed
// posts were being committed, or a gap read. Afterwards the poll that was due goes before the
// posts that wait: otherwise a stream that brings posts faster than they are committed would
// leave no turn to polls.
func (s *Pushes) Late(slot int32, due int64) {
	if _, ok := s.late[slot]; !ok {
		s.late[slot] = due
	}
}

// GoOn takes the posts that wait for a poll of their target which has not begun, because
// slots or the budget do not allow it. It has to be called when the polls that are due have
// begun, as far as they may.
func (s *Pushes) GoOn(polled func(slot int32) bool) {
	turn := s.turn
	s.turn = nil
	for _, slot := range turn {
		if !polled(slot) {
			s.goOn(slot)
		}
	}
}

func (s *Pushes) begin(slot int32, posts []Push) {
	m := s.m
	p := m.newPoll()
	p.Machine, p.Slot, p.At = m, slot, posts[0].At
	p.Plan.Pushed = true
	m.targets.Plan(p)
	p.Out.Begun = p.At
	for i := range posts {
		p.Stream.Numbers = append(p.Stream.Numbers, posts[i].Number)
		// Pages are judged from the last to the first, and so in the order of posts.
		push := &posts[len(posts)-1-i]
		p.Out.Pages = append(p.Out.Pages, Page{Asked: push.At, At: push.At, Tweets: []fetcher.Tweet{push.Post}})
	}
	p.Out.Posts = len(posts)
	p.index = len(m.polls)
	m.polls = append(m.polls, p)
	events := m.Judge(p)
	p.Committing = true
	if len(events) == 0 {
		m.Settled(p, nil)
		return
	}
	m.commit(p, events)
}

// settled applies a poll that begin has made, and ends it; err is its commit's.
func (s *Pushes) settled(p *Poll, err error) {
	m, slot := s.m, p.Slot
	if err == nil {
		m.targets.Apply(p)
	}
	m.targets.Brought(slot, err != nil, m.times.Now)
	m.reuse(p)
	s.goOn(slot)
}

// goOn takes the posts that have waited for a target's poll to end. If the next poll is late,
// it has the turn.
func (s *Pushes) goOn(slot int32) {
	if due, ok := s.late[slot]; ok {
		delete(s.late, slot)
		s.m.targets.Fail(slot, due)
		s.turn = append(s.turn, slot)
		return
	}
	if held := s.held[slot]; len(held) > 0 {
		delete(s.held, slot)
		s.begin(slot, held)
	}
}

// drop drops the posts that wait, of a target that nobody watches any more.
func (s *Pushes) drop(slot int32) {
	delete(s.late, slot)
	s.turn = slices.DeleteFunc(s.turn, func(other int32) bool { return other == slot })
	held := s.held[slot]
	if len(held) == 0 {
		return
	}
	delete(s.held, slot)
	numbers := make([]uint64, len(held))
	for i := range held {
		numbers[i] = held[i].Number
	}
	s.m.env.On.Pushed(s.m.traits.Kind, numbers)
}
