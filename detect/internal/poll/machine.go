package poll

import (
	"cmp"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// Machine takes the polls of the targets of one kind from their start until
// their commits are settled. It belongs to one shard, and is not safe for
// concurrent use, NoteLatency aside.
type Machine struct {
	env     *Env
	times   *Times
	traits  Traits
	count   *KindCounters
	targets Targets
	commit  func(*Poll, []deliver.Event)

	polls []*Poll // that have not ended
	blank []*Poll // that have ended, to be used again

	// What few targets have, by slot.
	troubles map[int32]*trouble
	skews    map[int32]time.Duration // how far our clock was ahead in the last poll
	contacts map[int32]int64         // Unix seconds when a page last came, where no whole poll did since
	book     gapBook
	Pushes   Pushes
	Memory   Memory // of polls of accounts

	asked uint64 // calls of AskKnown with a version: it has some polls audit the page
	judge judge
}

// Times are the clocks as a shard read them last: polls that begin or end together
// share one reading.
type Times struct {
	Now  int64 // of the detector's clock, in nanoseconds
	Wall time.Time
}

// NewMachine returns a Machine without polls. times is the shard's. commit gets a poll
// and its events; when these and the poll's Cursor are in the journal, or cannot be,
// Settled has to be called on the shard's goroutine.
func NewMachine(env *Env, times *Times, traits Traits, targets Targets, commit func(*Poll, []deliver.Event)) *Machine {
	m := &Machine{env: env, times: times, traits: traits, count: &env.Count.Kinds[traits.Kind], targets: targets, commit: commit,
		troubles: map[int32]*trouble{}, skews: map[int32]time.Duration{}, contacts: map[int32]int64{},
		book: newGapBook(env, traits.Resumes), judge: judge{env: env, inPoll: map[string]int{}}}
	m.Pushes = Pushes{m: m, held: map[int32][]Push{}, late: map[int32]int64{}}
	return m
}

// Open is how many polls have not ended.
func (m *Machine) Open() int { return len(m.polls) }

// Start plans a target's poll, which was due at the given times.
func (m *Machine) Start(slot int32, due int64, at time.Time) *Poll {
	return m.start(slot, due, at, nil)
}

func (m *Machine) start(slot int32, due int64, at time.Time, gap *Gap) *Poll {
	p := m.newPoll()
	p.Machine, p.Slot, p.DueAt, p.At = m, slot, due, at
	delete(m.Pushes.late, slot)
	tr := m.troubles[slot]
	p.Plan.Gap, p.Plan.Failed = gap, tr != nil
	m.targets.Plan(p)
	if tr != nil && tr.byName {
		p.Plan.askByName()
	}
	p.index = len(m.polls)
	m.polls = append(m.polls, p)
	return p
}

// newPoll returns an empty poll, a used one if possible.
func (m *Machine) newPoll() *Poll {
	n := len(m.blank)
	if n == 0 {
		return &Poll{}
	}
	p := m.blank[n-1]
	m.blank = m.blank[:n-1]
	return p
}

// Landed judges a poll whose pages have come, and has the result committed.
func (m *Machine) Landed(p *Poll) {
	m.env.countPoll(p)
	if !m.targets.Watched(p.Slot) {
		m.end(p)
		return
	}
	out := &p.Out
	if out.Err != nil {
		m.env.noteRateLimit(p, m.Failures(p.Slot))
		giveUpPage(p, m.troubles[p.Slot])
	}
	if len(out.Pages) > 0 {
		m.noteSkew(p)
	}
	m.audit(p)
	m.targets.Landed(p)
	events := m.Judge(p)
	m.book.note(p)
	p.Cursor = m.cursor(p)
	p.Committing = true
	if p.Cursor == nil && len(events) == 0 { // nothing to commit
		m.Settled(p, nil)
		return
	}
	m.commit(p, events)
}

func (m *Machine) noteSkew(p *Poll) {
	skew := p.Out.Skew
	if skew == 0 {
		delete(m.skews, p.Slot)
		return
	}
	if m.skews[p.Slot] == 0 {
		m.env.Logger.Warn("clocks differ", m.traits.Key, p.Name, "ahead of upstream", skew)
	}
	m.skews[p.Slot] = skew
}

// Skew is how far our clock was ahead of the upstream's in a target's last poll,
// 0 when they were about the same.
func (m *Machine) Skew(slot int32) time.Duration { return m.skews[slot] }

// Settled applies a poll whose batch is in the journal. With an error, which says that
// it is not, the poll is dropped, and the next one finds everything again.
func (m *Machine) Settled(p *Poll, err error) {
	if !m.targets.Watched(p.Slot) {
		m.end(p)
		return
	}
	m.ended(p)
	if m.traits.Kind == Accounts {
		m.Memory.add(p, m.times.Wall, err)
	}
	if p.Plan.Pushed {
		m.Pushes.settled(p, err)
		return
	}
	if n := len(p.Out.Pages); n > 0 && (err != nil || !p.Whole()) {
		m.contacts[p.Slot] = p.Out.Pages[n-1].At.Unix()
	}
	if err == nil {
		m.apply(p)
	}
	m.reschedule(p, err)
	slot := p.Slot
	m.reuse(p)
	m.Pushes.goOn(slot)
}

func (m *Machine) apply(p *Poll) {
	if p.Cursor != nil {
		m.book.set(p.Slot, p.Cursor.Gaps)
	}
	m.book.report(p)
	m.targets.Apply(p)
	if p.Whole() {
		delete(m.contacts, p.Slot)
	}
}

// storeRest is the longest wait before the next poll of a target without an interval whose
// commit failed.
const storeRest = time.Minute

// reschedule sets a target's next poll after one whose commit ended with err.
func (m *Machine) reschedule(p *Poll, err error) {
	now := m.times.Now
	switch {
	case p.Plan.Gap != nil:
		m.book.filled(p, err, now)
		if m.troubles[p.Slot] == nil {
			m.targets.Done(p, now)
		}
	case errors.Is(err, fleet.ErrFenced): // another node has the target, or will have it soon
		m.targets.Fail(p.Slot, now+int64(m.env.MinBackoff))
	case err != nil: // the store has failed and not the target: it is due again soon
		wait := m.env.Backoff(m.trouble(p).commitFailed(err))
		every := cmp.Or(m.targets.Every(p.Slot), storeRest)
		m.targets.Fail(p.Slot, now+int64(min(wait, max(every, m.env.MinBackoff))))
	case p.Out.Err != nil:
		m.followTrouble(p)
		m.targets.Fail(p.Slot, now+int64(m.env.retryWait(m.Failures(p.Slot), p.Out.Err)))
	default:
		m.followTrouble(p)
		m.targets.Done(p, now)
	}
}

// end ends a poll whose target has no subscriber any more.
func (m *Machine) end(p *Poll) {
	m.ended(p)
	m.Release(p.Slot)
	m.reuse(p)
}

// Release forgets a target that has no subscriber and is not being polled.
func (m *Machine) Release(slot int32) {
	m.Pushes.drop(slot)
	delete(m.troubles, slot)
	delete(m.skews, slot)
	delete(m.contacts, slot)
	m.book.release(slot)
	m.targets.Release(slot)
}

// ended removes a poll from those under way.
func (m *Machine) ended(p *Poll) {
	last := len(m.polls) - 1
	other := m.polls[last]
	m.polls[p.index], other.index = other, p.index
	m.polls[last] = nil
	m.polls = m.polls[:last]
	m.targets.Ended(p.Slot)
	if len(p.Stream.Numbers) > 0 {
		m.env.On.Pushed(m.traits.Kind, p.Stream.Numbers)
	}
	for _, fn := range p.waiters {
		fn()
	}
}

// reuse keeps a poll that has ended for newPoll, maxBlank at most.
func (m *Machine) reuse(p *Poll) {
	if len(m.blank) < maxBlank {
		p.reset()
		m.blank = append(m.blank, p)
	}
}

// WhenSettled calls fn when all polls have ended that wait for their commit now, at
// once if none does.
func (m *Machine) WhenSettled(fn func()) {
	open := 1
	settle := func() {
		if open--; open == 0 {
			fn()
		}
	}
	for _, p := range m.polls {
		if p.Committing {
			open++
			p.waiters = append(p.waiters, settle)
		}
	}
	settle()
}

// Committing returns the targets whose polls wait for their commit.
func Committing(m *Machine) map[int32]bool {
	slots := map[int32]bool{}
	for _, p := range m.polls {
		if p.Committing {
			slots[p.Slot] = true
		}
	}
	return slots
}

// Contact returns when the last page of a target came; ok is false if a whole poll brought
// it, whose time the Targets have.
func (m *Machine) Contact(slot int32) (at time.Time, ok bool) {
	sec, ok := m.contacts[slot]
	return time.Unix(sec, 0), ok
}

func (e *Env) countPoll(p *Poll) {
	c, out, kind := &e.Count, &p.Out, p.Machine.count
	kind.Polls.Add(1)
	c.Posts.Add(int64(out.Posts))
	if out.excess > 0 { // seldom, as below: all shards write to the same counters
		c.Excess.Add(int64(out.excess))
	}
	if out.panicked {
		c.Panics.Add(1)
	}
	if out.Shallow {
		c.Shallow.Add(1)
	}
	if out.Err != nil {
		kind.Errors.Add(1)
	}
}
