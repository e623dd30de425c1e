package poll

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Push is a post from a stream, and when it arrived.
type Push struct {
	Number uint64 // passed to Callbacks.Pushed
	Post   fetcher.Tweet
	At     time.Time
}

// Push judges streamed posts of a target like those of a poll that reads nothing, and passes new
// ones on to be committed. While the target is being polled, the posts wait.
func (m *Machine) Push(slot int32, posts ...Push) {
	t := m.targets.At(slot)
	if t.Polled || slices.Contains(m.turn, slot) {
		w := t.waiting()
		w.held = append(w.held, posts...)
		return
	}
	m.beginPushed(slot, posts)
}

// waiting returns the work that waits for the target's poll to end. It creates it if there is none.
func (t *Target) waiting() *waiting {
	o := t.change()
	if o.waits == nil {
		o.waits = &waiting{}
	}
	return o.waits
}

// waits returns the work that waits for the target's poll to end, nil for none.
func (t *Target) waits() *waiting {
	if t.odd == nil {
		return nil
	}
	return t.odd.waits
}

// Late records that a poll of a target was due while the target was busy with a commit of pushed
// posts or with a gap. The due poll then goes before the posts that wait. Otherwise a stream that
// sends posts faster than they are committed would leave no time for polls.
func (m *Machine) Late(slot int32, due int64) {
	if w := m.targets.At(slot).waiting(); !w.late {
		w.due, w.late = due, true
	}
}

// GoOn judges posts that wait for a poll which could not begin, because of slots or the budget.
// Call it after all due polls that may begin have begun.
func (m *Machine) GoOn() {
	turn := m.turn
	m.turn = nil
	for _, slot := range turn {
		if !m.targets.At(slot).Polled {
			m.goOn(slot)
		}
	}
}

func (m *Machine) beginPushed(slot int32, posts []Push) {
	p := m.newPoll()
	p.Machine, p.Slot, p.At = m, slot, posts[0].At
	p.Plan.Pushed = true
	m.begin(p)
	p.Out.Begun = p.At
	for i := range posts {
		p.Stream.Numbers = append(p.Stream.Numbers, posts[i].Number)
		// Pages are judged from the last to the first, so posts are added in reverse order.
		push := &posts[len(posts)-1-i]
		p.Out.Pages = append(p.Out.Pages, Page{Asked: push.At, At: push.At, Tweets: []fetcher.Tweet{push.Post}})
	}
	p.Out.Posts = len(posts)
	events := m.Judge(p)
	p.Committing = true
	if len(events) == 0 {
		m.Settled(p, nil)
		return
	}
	m.commit(p, events)
}

// settledPushed applies a poll of pushed posts and ends it. err is the error of the poll's commit.
func (m *Machine) settledPushed(p *Poll, err error) {
	if err == nil {
		m.targets.Apply(p)
	}
	m.targets.Next(p, err != nil, m.times.Now)
	slot := p.Slot
	m.reuse(p)
	m.goOn(slot)
}

// goOn judges the posts that waited for a target's poll to end. If a poll of the target is late,
// that poll goes first.
func (m *Machine) goOn(slot int32) {
	t := m.targets.At(slot)
	w := t.waits()
	if w == nil {
		return
	}
	if w.late {
		w.late = false
		m.targets.Rest(slot, w.due)
		m.turn = append(m.turn, slot)
		return
	}
	held := w.held
	w.held = nil
	t.tidy()
	if len(held) > 0 {
		m.beginPushed(slot, held)
	}
}

// dropPushed drops the waiting posts of a target that nobody watches any more.
func (m *Machine) dropPushed(slot int32) {
	t := m.targets.At(slot)
	w := t.waits()
	if w == nil {
		return
	}
	m.turn = slices.DeleteFunc(m.turn, func(other int32) bool { return other == slot })
	numbers := make([]uint64, len(w.held))
	for i := range w.held {
		numbers[i] = w.held[i].Number
	}
	w.held = nil
	t.tidy()
	if len(numbers) > 0 {
		m.env.On.Pushed(m.traits.Kind, numbers)
	}
}
