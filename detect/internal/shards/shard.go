package shards

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/queries"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// Shard owns a share of the targets. It starts their polls when they are due.
type Shard struct {
	// Accounts and Queries belong to the shard's goroutine once Run has begun.
	Accounts *accounts.Targets
	Queries  *queries.Targets

	env     *poll.Env
	cfg     Config
	mail    *batch.Queue[message] // its length is limited by the polls under way and the callers that wait
	workers *poll.Workers

	ticket   ticket // the ticket of the next call
	stopping bool

	times poll.Times // last readings of updateClocks

	probing int // number of calls of the Prober under way
	demand  demand

	taken []schedule.Due
	ahead int // written only to keep readAhead's reads from being optimized away
}

// Config sets up a Shard. All fields but Gather are required.
type Config struct {
	Env       *poll.Env
	Slots     int // limit on upstream calls under way
	BatchSize int // highest number of accounts per call
	// Gather is a window of time: polls that are due within it begin together. With 0 each poll
	// begins when it is due.
	Gather time.Duration
	// Stop is closed to end Run. Done is closed when Run has returned.
	Stop, Done <-chan struct{}
	// Gate stops new polls while it is closed.
	Gate *Gate
	// Commit queues a poll's events and cursor for a commit, and calls Settled after the commit.
	Commit func(sh *Shard, p *poll.Poll, events []deliver.Event)
	// Store queues a target's cursor for a commit after those already queued. It calls done after
	// that commit.
	Store func(target string, c *poll.Cursor, done func(error))
}

// New returns a Shard without targets. Targets are polled at their intervals.
func New(cfg Config) *Shard {
	sh := &Shard{env: cfg.Env, cfg: cfg, ticket: ticket{budget: cfg.Env.Budget}, mail: batch.NewQueue[message](0)}
	sh.workers = poll.NewWorkers(cfg.Env, cfg.Slots, func(p *poll.Poll) { sh.mail.Put(message{landed: p}) })
	commit := func(p *poll.Poll, events []deliver.Event) { cfg.Commit(sh, p, events) }
	sh.Accounts = accounts.NewTargets(cfg.Env, &sh.times, commit)
	if s, ok := sh.Accounts.Sched.(*schedule.ByInterval); ok {
		s.Gather = cfg.Gather
	}
	sh.Queries = queries.NewTargets(cfg.Env, &sh.times, commit)
	return sh
}

// Run is the shard's goroutine. It returns when Config.Stop is closed and no poll or commit
// of this shard is under way. If ctx ends, polls are cancelled.
func (sh *Shard) Run(ctx context.Context) {
	defer sh.workers.Join()
	defer context.AfterFunc(ctx, sh.mail.Bell().Ring)()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var msgs []message
	var armed int64 // when the timer will fire
	for {
		msgs = sh.mail.TakeAll(msgs)
		if len(msgs) > 0 {
			sh.updateClocks()
		}
		for i := range msgs {
			sh.handle(&msgs[i])
		}
		clear(msgs) // the queue reuses the slice
		if !sh.stopping && (sh.stopped() || ctx.Err() != nil) {
			sh.stopping = true
		}
		if sh.Accounts.Pushed.Follow(followSlots, sh.times.Now) {
			sh.mail.Bell().Ring()
		}
		wake := sh.startDue(ctx)
		sh.Accounts.Polls.GoOn()
		sh.Queries.Polls.GoOn()
		if sh.stopping && sh.open() == 0 {
			return
		}
		if wake != armed {
			armed = wake
			timer.Reset(time.Duration(wake - sh.env.Clock()))
		}
		select {
		case <-sh.mail.Bell():
		case <-timer.C:
			armed = 0
		}
	}
}

// stopped reports whether Config.Stop is closed.
func (sh *Shard) stopped() bool {
	select {
	case <-sh.cfg.Stop:
		return true
	default:
		return false
	}
}

// open returns how many polls are under way or wait for their commit.
func (sh *Shard) open() int { return sh.Accounts.Polls.Open() + sh.Queries.Polls.Open() }

// UnderWay returns how many upstream calls and polls have not ended.
func (sh *Shard) UnderWay() (calls, polls int) { return sh.workers.Busy(), sh.open() }

// updateClocks reads both clocks.
func (sh *Shard) updateClocks() { sh.times = poll.Times{Now: sh.env.Clock(), Wall: sh.env.Now()} }

// never is a time after all others. A shard that only a message wakes sleeps until longSleep.
const (
	never     = queries.Never
	longSleep = int64(1 << 62)
)

// Limits that are not configurable.
const (
	maxOpen     = 1024 // polls under way or waiting for their commit
	followSlots = 4096 // slots examined at a time after a change of the trust in a stream
)

// startDue starts the polls that are due, as far as slots and budget allow. It returns when to call
// it again if no message comes before.
func (sh *Shard) startDue(ctx context.Context) (wake int64) {
	for !sh.stopping {
		sh.updateClocks()
		now := sh.times.Now
		if from := sh.cfg.Gate.until.Load(); now < from {
			return from
		}
		probeAt := sh.startProbes(ctx)
		at, ok := sh.Accounts.Sched.NextAt(now)
		if !ok {
			at = never
		}
		search, searchAt := sh.Queries.Turn(at, now, sh.Accounts.Paced != nil)
		fill, fillAt, fills := sh.Accounts.Polls.FillTurn(search || ok && at <= now, now)
		if !fills {
			fillAt = never
		}
		switch {
		case sh.room() <= 0 || !ok && fillAt == never && searchAt == never:
			sh.ticket.giveBack()
			return longSleep // a message will wake the shard
		case !fill && !search && (!ok || at > now):
			sh.ticket.giveBack()
			return min(at, fillAt, searchAt, probeAt)
		}
		if wait := sh.ticket.wait(now); wait > 0 {
			return min(now+int64(wait), probeAt)
		}
		if sh.Accounts.Probes != nil && sh.env.ProbesClosed() <= now && sh.Accounts.Probes.Turn(now) && sh.startProbe(ctx) {
			sh.ticket.used()
			continue
		}
		if fill {
			if p := sh.Accounts.Polls.StartFill(func(slot int32) bool { return sh.Accounts.Waits(slot) > 0 }); p != nil {
				sh.read(ctx, p)
			}
			continue
		}
		sh.Accounts.Polls.Starve(1)
		if search {
			sh.startSearch(ctx)
			continue
		}
		sh.Queries.AccountsHadLast = true
		if sh.cfg.BatchSize == 1 && !sh.env.Budget.Bounded() && min(searchAt, fillAt) > now {
			sh.sweep(ctx)
		} else {
			sh.startPolls(ctx)
		}
	}
	return longSleep
}

// startPolls begins the poll of the account that is due first. It also begins polls of accounts due
// at about the same time, if they fit into the same call.
func (sh *Shard) startPolls(ctx context.Context) {
	var group []*poll.Poll
	sh.take()
	for _, next := range sh.taken {
		p := sh.start(next)
		switch {
		case p == nil:
		case len(sh.taken) == 1:
			sh.read(ctx, p)
			return
		default:
			group = append(group, p)
		}
	}
	switch len(group) {
	case 0:
	case 1:
		sh.read(ctx, group[0])
	default:
		sh.ticket.used()
		sh.workers.ReadTogether(ctx, group)
	}
}

// take removes from the schedule the accounts that share the next upstream call. It puts them into
// taken.
func (sh *Shard) take() {
	sched := sh.Accounts.Sched
	sh.taken = sh.taken[:0]
	for len(sh.taken) < sh.cfg.BatchSize {
		due, ok := sched.Next(sh.times.Now, len(sh.taken) > 0)
		if !ok {
			return
		}
		alone := sh.Accounts.At(due.Slot).Is(poll.Alone)
		if alone && len(sh.taken) > 0 {
			sched.Put(due.Slot, due.At, schedule.Rested) // it will be in the next call
			return
		}
		sh.taken = append(sh.taken, due)
		if alone {
			return
		}
	}
}

// start plans an account's poll. It returns nil if the account cannot be polled yet.
func (sh *Shard) start(due schedule.Due) *poll.Poll {
	t, until := sh.Accounts.At(due.Slot), sh.Accounts.Waits(due.Slot)
	at := t.Due(due.At)
	switch {
	case until > 0 && t.Polled:
		sh.Accounts.Polls.Late(due.Slot, due.At)
		sh.Accounts.Rest(due.Slot, until)
		return nil
	case until > 0:
		sh.Accounts.Wait(due.Slot, at, until)
		return nil
	}
	late := time.Duration(sh.times.Now - at)
	if t.Waited() {
		sh.Accounts.Waited(due.Slot, late)
	}
	sh.env.Count.Lag.Record(late)
	return sh.Accounts.Polls.Start(due.Slot, at, sh.times.Wall.Add(-late))
}

// startSearch begins the poll of the query that is due first.
func (sh *Shard) startSearch(ctx context.Context) {
	q := sh.Queries
	slot, at, _ := q.Sched.Next()
	q.Sched.Remove(slot)
	q.AccountsHadLast = false
	sh.env.Count.Lag.Record(time.Duration(sh.times.Now - at))
	sh.read(ctx, q.Polls.Start(slot, at, sh.times.Wall.Add(time.Duration(at-sh.times.Now))))
}

// read starts a poll's upstream call, which uses the ticket.
func (sh *Shard) read(ctx context.Context, p *poll.Poll) {
	sh.ticket.used()
	sh.workers.Read(ctx, p)
}
