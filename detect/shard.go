package detect

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

// shard owns a share of the targets: it starts their polls when they are due. All
// of its state is touched by its goroutine alone; others send it messages.
type shard struct {
	d        *Detector
	mail     *batch.Queue[message] // bounded by the polls under way and the callers that wait
	slots    int                   // upstream calls that may be under way at once
	workers  *poll.Workers
	accounts *accounts.Targets
	queries  *queries.Targets

	hasTicket bool
	ticket    int64 // when the next call may be made, on the detector's clock
	stopping  bool

	times poll.Times // as updateClocks read them

	probing int // calls under way

	taken []schedule.Due
	ahead int // keeps readAhead's reads from being optimized away
}

func newShard(d *Detector, slots int) *shard {
	sh := &shard{d: d, mail: batch.NewQueue[message](0), slots: slots}
	sh.workers = poll.NewWorkers(d.env, slots, func(p *poll.Poll) { sh.mail.Put(message{landed: p}) })
	commit := func(p *poll.Poll, events []deliver.Event) {
		d.committer.queue.Put(waiting{batch: newBatch(p, events), shard: sh, poll: p})
	}
	sh.accounts = accounts.NewTargets(d.env, &sh.times, commit)
	sh.queries = queries.NewTargets(d.env, &sh.times, commit)
	return sh
}

// shardOf is the shard that owns an account.
func shardOf(d *Detector, username string) *shard {
	return d.shards[accounts.HashName(username)%uint64(len(d.shards))]
}

// run is the shard's goroutine. It ends when the detector stops and no poll or
// commit of this shard is under way; ctx cuts the polls short.
func (sh *shard) run(ctx context.Context) {
	defer sh.workers.Join()
	defer context.AfterFunc(ctx, sh.mail.Bell().Ring)()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var msgs []message
	var armed int64 // when the timer fires
	for {
		msgs = sh.mail.TakeAll(msgs)
		if len(msgs) > 0 {
			sh.updateClocks()
		}
		for i := range msgs {
			sh.handle(&msgs[i])
		}
		clear(msgs) // its space goes back to the queue
		if !sh.stopping && (sh.d.isStopped() || ctx.Err() != nil) {
			sh.stopping = true
		}
		if sh.accounts.Pushed.Follow(groupSlots, sh.times.Now) {
			sh.mail.Bell().Ring()
		}
		wake := sh.startDue(ctx)
		if sh.stopping && sh.open() == 0 {
			return
		}
		if wake != armed {
			armed = wake
			timer.Reset(time.Duration(wake - sh.d.clock()))
		}
		select {
		case <-sh.mail.Bell():
		case <-timer.C:
			armed = 0
		}
	}
}

// open is how many polls have not ended.
func (sh *shard) open() int { return sh.accounts.Polls.Open() + sh.queries.Polls.Open() }

// updateClocks reads both clocks.
func (sh *shard) updateClocks() { sh.times = poll.Times{Now: sh.d.clock(), Wall: sh.d.deps.Now()} }

func (sh *shard) handle(m *message) {
	switch {
	case m.set != nil:
		sh.accounts.SetSubscription(&m.set.sub)
		close(m.set.done)
	case m.remove != nil:
		sh.accounts.RemoveSubscription(m.remove.sourceID)
		sh.accounts.Polls.WhenSettled(m.remove.settled)
	case m.landed != nil:
		sh.workers.Ended(m.landed)
		m.landed.Machine.Landed(m.landed)
	case m.settled != nil:
		m.settled.Machine.Settled(m.settled, m.err)
	case m.probed != nil:
		sh.workers.Done()
		sh.probing--
		sh.accounts.Probes.Landed(m.probed, sh.times.Now)
	case m.ask != nil:
		m.ask(sh)
	}
}

// never is a time that does not come, and longSleep one that only messages come
// before.
const (
	never     = queries.Never
	longSleep = int64(1 << 62)
)

// startDue starts the polls that are due, as far as slots and budget allow, and
// returns when to go on if no message comes.
func (sh *shard) startDue(ctx context.Context) (wake int64) {
	for !sh.stopping {
		sh.updateClocks()
		now := sh.times.Now
		if from := sh.d.pollFrom.Load(); now < from {
			return from
		}
		probeAt := sh.startProbes(ctx)
		at, ok := sh.accounts.Sched.NextAt()
		if !ok {
			at = never
		}
		search, searchAt := sh.queries.Turn(at, now, sh.accounts.Sched.TakesTurns())
		fill, fillAt, fills := sh.accounts.Polls.FillTurn(search || ok && at <= now, now)
		if !fills {
			fillAt = never
		}
		switch {
		case sh.room() <= 0 || !ok && fillAt == never && searchAt == never:
			return longSleep // a message will wake the shard
		case !fill && !search && (!ok || at > now):
			return min(at, fillAt, searchAt, probeAt)
		}
		if wait := sh.budgetWait(now); wait > 0 {
			return min(now+int64(wait), probeAt)
		}
		if sh.accounts.Probes != nil && sh.accounts.Probes.Turn(now) && sh.startProbe(ctx) {
			sh.hasTicket = false
			continue
		}
		if fill {
			if p := sh.accounts.Polls.StartFill(func(slot int32) bool { return sh.accounts.Waits(slot) > 0 }); p != nil {
				sh.read(ctx, p)
			}
			continue
		}
		sh.accounts.Polls.Starve(1)
		if search {
			sh.startSearch(ctx)
			continue
		}
		sh.queries.AccountsHadLast = true
		if sh.d.batchSize == 1 && !sh.d.env.Budget.Bounded() && min(searchAt, fillAt) > now {
			sh.sweep(ctx)
		} else {
			sh.startPolls(ctx)
		}
	}
	return longSleep
}

// budgetWait is how long the next call must wait for the budget.
func (sh *shard) budgetWait(now int64) time.Duration {
	b := sh.d.env.Budget
	if closed := b.Closed(now); closed > 0 {
		// Drop the ticket: with a new one, calls keep to the rate when the gate opens.
		sh.hasTicket = false
		return closed
	}
	if !b.Bounded() {
		return 0
	}
	if !sh.hasTicket && b.Reading() {
		return time.Duration(longSleep - now) // the last of them rings
	}
	if !sh.hasTicket {
		sh.ticket, sh.hasTicket = b.Ticket(now), true
	}
	return time.Duration(sh.ticket - now)
}

// startPolls begins the poll of the account due first, and in the same call of
// those that are due about then, as many as one call takes.
func (sh *shard) startPolls(ctx context.Context) {
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
		sh.hasTicket = false
		sh.workers.ReadTogether(ctx, group)
	}
}

// take takes out the accounts that share the next upstream call.
func (sh *shard) take() {
	sched := sh.accounts.Sched
	sh.taken = sh.taken[:0]
	for len(sh.taken) < sh.d.batchSize {
		due, ok := sched.Next(sh.times.Now, len(sh.taken) > 0)
		if !ok {
			return
		}
		alone := sh.accounts.At(due.Slot).Is(accounts.Alone)
		if alone && len(sh.taken) > 0 {
			sched.Fail(due.Slot, due.At) // for the next call
			return
		}
		sh.taken = append(sh.taken, due)
		if alone {
			return
		}
	}
}

// start plans an account's poll. It returns nil for an account that has to wait.
func (sh *shard) start(due schedule.Due) *poll.Poll {
	if until := sh.accounts.Waits(due.Slot); until > 0 {
		sh.accounts.Sched.Fail(due.Slot, until)
		return nil
	}
	sh.d.env.Count.Lag.Record(time.Duration(sh.times.Now - due.At))
	return sh.accounts.Polls.Start(due.Slot, due.At, sh.times.Wall.Add(time.Duration(due.At-sh.times.Now)))
}

// startSearch begins the poll of the query that is due first.
func (sh *shard) startSearch(ctx context.Context) {
	q := sh.queries
	slot, at, _ := q.Sched.Next()
	q.Sched.Remove(slot)
	q.AccountsHadLast = false
	sh.d.env.Count.Lag.Record(time.Duration(sh.times.Now - at))
	sh.read(ctx, q.Polls.Start(slot, at, sh.times.Wall.Add(time.Duration(at-sh.times.Now))))
}

// read makes a poll's upstream call, which uses the ticket.
func (sh *shard) read(ctx context.Context, p *poll.Poll) {
	sh.hasTicket = false
	sh.workers.Read(ctx, p)
}
