package poll

import (
	"cmp"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/due"
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

	fills   due.Queue // targets with gaps to read on, by when to try
	starved int       // polls started since the last fill
	turn    []int32   // late targets whose poll goes before the pushed posts that wait: see Late
	Memory  Memory    // of polls of accounts

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
	return &Machine{env: env, times: times, traits: traits, count: &env.Count.Kinds[traits.Kind], targets: targets, commit: commit,
		judge: judge{env: env, inPoll: map[string]int{}}}
}

// Open is how many polls have not ended.
func (m *Machine) Open() int { return len(m.polls) }

// Start plans a target's poll, which was due at the given times.
func (m *Machine) Start(slot int32, due int64, at time.Time) *Poll {
	return m.start(slot, due, at, nil)
}

func (m *Machine) start(slot int32, due int64, at time.Time, gap *Gap) *Poll {
	p, t := m.newPoll(), m.targets.At(slot)
	p.Machine, p.Slot, p.DueAt, p.At = m, slot, due, at
	if w := t.waits(); w != nil {
		w.late = false
	}
	p.Plan.Gap, p.Plan.Failed = gap, t.fails()
	m.begin(p)
	if p.Plan.Failed && t.odd.byName {
		p.Plan.askByName()
	}
	return p
}

// begin plans a poll, and adds it to those under way.
func (m *Machine) begin(p *Poll) {
	m.targets.At(p.Slot).Polled = true
	m.targets.Plan(p)
	p.index = len(m.polls)
	m.polls = append(m.polls, p)
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
	out, t := &p.Out, m.targets.At(p.Slot)
	if !t.Watched {
		m.end(p)
		return
	}
	if out.Err != nil {
		t.Alone = t.Alone || out.Together
		m.env.noteRateLimit(p, t.Failures())
		m.giveUpPage(p)
	}
	if len(out.Pages) > 0 {
		if out.Skew != 0 && t.skew == 0 {
			m.env.Logger.Warn("clocks differ", m.traits.Key, p.Name, "ahead of upstream", out.Skew)
		}
		t.setSkew(out.Skew)
	}
	m.audit(p)
	events := m.Judge(p)
	m.noteGaps(p)
	p.Cursor = m.cursor(p)
	p.Committing = true
	if p.Cursor == nil && len(events) == 0 { // nothing to commit
		m.Settled(p, nil)
		return
	}
	m.commit(p, events)
}

// Settled applies a poll whose batch is in the journal. With an error, which says that
// it is not, the poll is dropped, and the next one finds everything again.
func (m *Machine) Settled(p *Poll, err error) {
	t := m.targets.At(p.Slot)
	if !t.Watched {
		m.end(p)
		return
	}
	m.ended(p)
	if m.traits.Kind == Accounts {
		m.Memory.add(p, m.times.Wall, err)
	}
	if p.Plan.Pushed {
		m.settledPushed(p, err)
		return
	}
	if n := len(p.Out.Pages); n > 0 && (err != nil || !p.Whole()) {
		t.setContact(uint32(p.Out.Pages[n-1].At.Unix()))
	}
	if err == nil {
		m.apply(p)
	}
	m.reschedule(p, err)
	slot := p.Slot
	m.reuse(p)
	m.goOn(slot)
}

func (m *Machine) apply(p *Poll) {
	if p.Cursor != nil {
		m.setGaps(p.Slot, p.Cursor.Gaps)
	}
	m.reportGaps(p)
	m.targets.Apply(p)
	if p.Whole() {
		m.targets.At(p.Slot).setContact(0)
	}
}

// storeRest is the longest wait before the next poll of a target without an interval whose
// commit failed.
const storeRest = time.Minute

// reschedule sets a target's next poll after one whose commit ended with err.
func (m *Machine) reschedule(p *Poll, err error) {
	now, t := m.times.Now, m.targets.At(p.Slot)
	switch {
	case p.Plan.Gap != nil:
		m.filled(p, err, now)
		if !t.fails() {
			m.targets.Next(p, false, now)
		}
	case errors.Is(err, fleet.ErrFenced): // another node has the target, or will have it soon
		m.targets.Rest(p.Slot, now+int64(m.env.MinBackoff))
	case err != nil: // the store has failed and not the target: it is due again soon
		wait := m.env.Backoff(int(t.failed(p.At, err).failures))
		every := cmp.Or(m.view(p).Every, storeRest)
		m.targets.Rest(p.Slot, now+int64(min(wait, max(every, m.env.MinBackoff))))
	case p.Out.Err != nil:
		m.followTrouble(p)
		m.targets.Rest(p.Slot, now+int64(m.env.retryWait(t.Failures(), p.Out.Err)))
	default:
		m.followTrouble(p)
		m.targets.Next(p, false, now)
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
	m.dropPushed(slot)
	m.setGaps(slot, nil)
	m.fills.Remove(slot)
	t := m.targets.At(slot)
	t.odd, t.skew = nil, 0
	m.targets.Release(slot)
}

// ended removes a poll from those under way.
func (m *Machine) ended(p *Poll) {
	last := len(m.polls) - 1
	other := m.polls[last]
	m.polls[p.index], other.index = other, p.index
	m.polls[last] = nil
	m.polls = m.polls[:last]
	m.targets.At(p.Slot).Polled = false
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
func (m *Machine) Committing() map[int32]bool {
	slots := map[int32]bool{}
	for _, p := range m.polls {
		if p.Committing {
			slots[p.Slot] = true
		}
	}
	return slots
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
