package poll

import (
	"cmp"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/due"
)

// Machine takes the polls of one kind of target from their start until their commits are
// settled. It belongs to one shard. Except for NoteLatency, it is not safe for concurrent
// use.
type Machine struct {
	env     *Env
	times   *Times
	traits  Traits
	count   *KindCounters
	targets Targets
	commit  func(*Poll, []deliver.Event)

	polls []*Poll // polls that have not ended
	blank []*Poll // finished polls, for reuse

	fills   due.Queue // targets with gaps to read, by the time of the next try
	starved int       // polls started since the last reading of a gap
	turn    []int32   // late targets: their polls go before waiting pushed posts (see Late)
	Memory  Memory    // finished polls of accounts

	asked uint64 // calls of AskKnown with a version; selects the polls that audit
	judge judge
}

// Times are a shard's last readings of its clocks. Polls that begin or end together share
// one reading.
type Times struct {
	Now  int64 // the detector's clock, in nanoseconds
	Wall time.Time
}

// NewMachine returns a Machine without polls. times belongs to the shard. commit receives a poll
// and its events. The caller must then store these and the poll's Cursor in the journal, and call
// Settled on the shard's goroutine, also if they cannot be stored.
func NewMachine(env *Env, times *Times, traits Traits, targets Targets, commit func(*Poll, []deliver.Event)) *Machine {
	return &Machine{env: env, times: times, traits: traits, count: &env.Count.Kinds[traits.Kind], targets: targets, commit: commit,
		judge: judge{env: env, inPoll: map[string]int{}}}
}

// Open returns how many polls have not ended.
func (m *Machine) Open() int { return len(m.polls) }

// Start plans a target's poll. due and at are when the poll was due, on the detector's clock and as
// wall time.
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

// newPoll returns an empty poll, reusing a finished one if possible.
func (m *Machine) newPoll() *Poll {
	n := len(m.blank)
	if n == 0 {
		return &Poll{}
	}
	p := m.blank[n-1]
	m.blank = m.blank[:n-1]
	return p
}

// Landed judges a poll whose pages have been read, and passes the result on to be committed.
func (m *Machine) Landed(p *Poll) {
	m.env.countPoll(p)
	out, t := &p.Out, m.targets.At(p.Slot)
	if !t.Watched {
		m.end(p)
		return
	}
	if out.Err != nil {
		t.Mark(Alone, t.Is(Alone) || out.Together)
		m.env.noteRateLimit(p)
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

// Settled applies a poll whose batch was committed. If err is not nil, the batch was not committed:
// Settled drops the poll, and the next one finds everything again.
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

// storeRest is the longest wait for the next poll after a failed commit, for a target without an
// interval.
const storeRest = time.Minute

// reschedule sets the time of a target's next poll after p. err is the error of p's commit.
func (m *Machine) reschedule(p *Poll, err error) {
	now, t := m.times.Now, m.targets.At(p.Slot)
	switch {
	case p.Plan.Gap != nil:
		m.filled(p, err, now)
		if !t.fails() {
			m.targets.Next(p, false, now)
		}
	case errors.Is(err, fleet.ErrFenced): // another node has the target, or will soon have it
		m.targets.Rest(p.Slot, now+int64(m.env.MinBackoff))
	case err != nil: // the store failed, not the target: poll again soon
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

// end ends a poll of a target that has no subscriber any more.
func (m *Machine) end(p *Poll) {
	m.ended(p)
	m.Release(p.Slot)
	m.reuse(p)
}

// Release drops the state of a target that has no subscriber and is not being polled.
func (m *Machine) Release(slot int32) {
	m.dropPushed(slot)
	m.setGaps(slot, nil)
	m.fills.Remove(slot)
	t := m.targets.At(slot)
	m.catchUp(t)
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

// reuse keeps a finished poll for newPoll. It keeps at most maxBlank.
func (m *Machine) reuse(p *Poll) {
	if len(m.blank) < maxBlank {
		p.reset()
		m.blank = append(m.blank, p)
	}
}

// WhenSettled calls fn when all polls that now wait for their commit have ended. If there are none,
// it calls fn immediately.
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

// Committing returns the targets of polls that wait for their commit.
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
	if out.excess > 0 { // rare, as the cases below are: all shards share these counters
		c.Excess.Add(int64(out.excess))
	}
	if out.panicked {
		c.Panics.Add(1)
	}
	if out.Shallow {
		c.Shallow.Add(1)
	}
	if err := out.Err; err != nil {
		kind.Errors.Add(1)
		c.LastError.Store(&err)
	}
}
