package detect

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/due"
	"github.com/streamwatch/streamwatch/internal/seen"
	"github.com/streamwatch/streamwatch/rule/query"
)

// shard owns a share of the targets. All of its state is touched by its
// goroutine alone; others talk to it through its mailbox.
type shard struct {
	d     *Detector
	mail  *mailbox
	slots int // upstream calls that may be under way at once

	// By slot.
	targets  dense[target]
	windows  seen.Windows
	versions dense[uint64] // of first pages, where the Fetcher names them
	size     int32         // slots ever used
	free     []int32
	roster   roster
	names    names
	sched    schedule.Schedule

	// What few targets have, by slot.
	more     map[int32][]subscriber // subscribers beyond the first
	troubles map[int32]*trouble
	gaps     map[int32][]Gap
	skews    map[int32]time.Duration // of the last poll: how far our clock is ahead of the upstream's
	contacts map[int32]unixSeconds   // when a page last came, where that is not when it was last whole

	sources   map[string]*source
	wants     []want
	freeWants []int32

	answers   *query.Set // the sources' programs, by source id; see takes
	asked     uint64     // posts that it was asked about
	searches  searches
	flights   []*flight // polls that have not ended
	blank     []*flight // that have ended, to be used again
	workers   workers
	fills     due.Queue     // targets with a gap to read, by when to try
	fillTries map[int32]int // fills that failed in a row
	starved   int           // polls started since the last fill
	observed  int           // successful polls under a budget
	known     uint64        // polls whose first page could be unchanged
	hasTicket bool
	ticket    int64 // when the next call may be made, on the detector's clock
	stopping  bool

	// The last look at the clocks: polls begun together share one, and answers.
	now  int64 // the detector's
	wall time.Time

	inPoll  map[string]int // scratch of judge: where each id is, see onPage
	scratch []byte
	taken   []schedule.Due
	ahead   int // what sweep read
}

func newShard(d *Detector, slots int) *shard {
	sh := &shard{d: d, mail: newMailbox(), slots: slots,
		more: map[int32][]subscriber{}, troubles: map[int32]*trouble{}, gaps: map[int32][]Gap{}, skews: map[int32]time.Duration{},
		contacts: map[int32]unixSeconds{},
		sources:  map[string]*source{}, answers: query.NewSet(), fillTries: map[int32]int{}, inPoll: map[string]int{}}
	sh.workers.init(slots)
	sh.sched = schedule.NewByInterval(sh, d.epoch)
	sh.roster.hash = func(slot int32) uint64 { return hashAccount(sh.username(slot)) }
	return sh
}

// run is the shard's goroutine. It ends when the detector stops and no poll or
// commit of this shard is under way; ctx cuts the polls short.
func (sh *shard) run(ctx context.Context) {
	defer sh.workers.join()
	defer context.AfterFunc(ctx, sh.mail.ring)()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var msgs []message
	var armed int64 // when the timer fires
	for {
		msgs = sh.mail.take(msgs)
		if len(msgs) > 0 {
			sh.look()
		}
		for i := range msgs {
			sh.handle(&msgs[i])
		}
		clear(msgs) // its space goes back to the mailbox
		if !sh.stopping && (sh.d.isStopped() || ctx.Err() != nil) {
			sh.stopping = true
		}
		wake := sh.startDue(ctx)
		if sh.stopping && len(sh.flights)+len(sh.searches.polling) == 0 {
			return
		}
		if wake != armed {
			armed = wake
			timer.Reset(time.Duration(wake - sh.d.clock()))
		}
		select {
		case <-sh.mail.bell:
		case <-timer.C:
			armed = 0
		}
	}
}

// look reads both clocks.
func (sh *shard) look() { sh.now, sh.wall = sh.d.clock(), sh.d.cfg.Now() }

func (sh *shard) handle(m *message) {
	switch {
	case m.set != nil:
		sh.set(m.set)
	case m.remove != nil:
		sh.remove(m.remove)
	case m.landed != nil:
		sh.landed(m.landed)
	case m.committed != nil:
		sh.committed(m.committed, m.err)
	case m.ask != nil:
		m.ask(sh)
	}
}

// startDue starts the polls that are due, as far as slots and budget allow,
// and says when to go on if nothing else happens.
func (sh *shard) startDue(ctx context.Context) (wake int64) {
	for !sh.stopping {
		sh.look()
		now := sh.now
		at, ok := sh.nextAt()
		search, searchAt := sh.searchTurn(at, now)
		fill, fillAt := sh.fillTurn(search || ok && at <= now, now)
		switch {
		case sh.room() <= 0 || !ok && fillAt == never && searchAt == never:
			return longSleep // a message will wake the shard
		case !fill && !search && (!ok || at > now):
			return min(at, fillAt, searchAt)
		}
		if wait := sh.budgetWait(now); wait > 0 {
			return now + int64(wait)
		}
		if fill {
			sh.startFill(ctx)
			continue
		}
		sh.starved++
		if search {
			sh.startSearch(ctx, now)
			continue
		}
		sh.searches.turn = true
		if sh.d.batchSize == 1 && sh.d.budget.limiter == nil && min(searchAt, fillAt) > now {
			sh.sweep(ctx, now)
		} else {
			sh.startPolls(ctx, now)
		}
	}
	return longSleep
}

// longSleep is a time that only messages come before.
const longSleep = int64(1 << 62)

// budgetWait is how long the next call must wait for the budget.
func (sh *shard) budgetWait(now int64) time.Duration {
	b := sh.d.budget
	if closed := b.closed(now); closed > 0 {
		// What was waiting for its turn must not come with all others when the
		// gate opens: it takes a new turn then.
		sh.hasTicket = false
		return closed
	}
	if b.limiter == nil {
		return 0
	}
	if !sh.hasTicket && b.reading.Load() > 0 {
		return time.Duration(longSleep - now) // the last of them rings
	}
	if !sh.hasTicket {
		sh.ticket, sh.hasTicket = b.ticket(now), true
	}
	return time.Duration(sh.ticket - now)
}

// startPolls begins the poll of the target due first, and in the same call of
// those that are due about then, as many as one call takes.
func (sh *shard) startPolls(ctx context.Context, now int64) {
	var group []*flight
	for _, next := range sh.take(now) {
		t := sh.targets.at(next.Slot)
		if t.state != idle { // its gap is being read
			sh.postpone(next.Slot, now)
			continue
		}
		f := sh.newFlight(next.Slot, next.At)
		sh.d.count.lag.Record(time.Duration(now - next.At))
		if len(sh.taken) == 1 {
			sh.depart(job{ctx: ctx, one: f})
			return
		}
		group = append(group, f)
	}
	switch len(group) {
	case 0:
	case 1:
		sh.depart(job{ctx: ctx, one: group[0]})
	default:
		sh.depart(job{ctx: ctx, group: group})
	}
}

// depart makes an upstream call, which uses the ticket.
func (sh *shard) depart(j job) {
	sh.hasTicket = false
	if j.one != nil {
		j.one.call = &j.one.own
		j.one.own.open = 1
	} else {
		call := &sharedCall{open: len(j.group)}
		for _, f := range j.group {
			f.call = call
		}
	}
	sh.workers.give(sh, j)
}

// landed takes a poll's outcome: judge it, and commit what came of it.
func (sh *shard) landed(f *flight) {
	if f.call.open--; f.call.open == 0 {
		sh.workers.busy--
	}
	t, out := sh.targets.at(f.slot), &f.out
	sh.countPoll(f)
	if t.want < 0 {
		sh.end(f)
		return
	}
	if out.err != nil {
		t.set(alone, out.together || t.is(alone))
		sh.d.noteRateLimit(sh.failures(f.slot), out.err)
		sh.giveUpPage(f)
	}
	if len(out.pages) > 0 {
		if out.skew != 0 && sh.skews[f.slot] == 0 {
			sh.d.cfg.Logger.Warn("clocks differ", "username", f.plan.query.Username, "ahead of upstream", out.skew)
		}
		if out.skew == 0 {
			delete(sh.skews, f.slot)
		} else {
			sh.skews[f.slot] = out.skew
		}
	}
	sh.audit(f)
	events := sh.judge(f)
	sh.noteGaps(f)
	f.cursor = sh.moved(f)
	t.state = committing
	if f.cursor == nil && len(events) == 0 { // as far as the journal goes
		sh.committed(f, nil)
		return
	}
	sh.d.committer.put(waiting{batch: &Batch{Cursor: f.cursor, Events: events}, shard: sh, flight: f})
}

// end lets go of a flight whose target nobody watches any more.
func (sh *shard) end(f *flight) {
	sh.ended(f)
	sh.targets.at(f.slot).state = idle
	for _, r := range f.waiters {
		r.settle()
	}
	sh.release(f.slot)
	sh.reuse(f)
}

// whole reports whether a poll left nothing out that it should have read.
func (f *flight) whole() bool {
	return f.plan.gap == nil && f.out.err == nil && (f.out.complete || f.opened != nil)
}

// moved is the cursor to store with this poll, nil when that can wait: a
// stored cursor that lags only makes the next start read further back.
func (sh *shard) moved(f *flight) *Cursor {
	t := sh.targets.at(f.slot)
	since, id := t.since.time(), f.id
	if f.plan.gap == nil {
		if !f.whole() {
			return nil
		}
		learned := id == "" && f.out.userID != ""
		if learned {
			id = f.out.userID
		}
		if f.opened == nil && !learned && len(f.newIDs) == 0 && t.since != 0 && f.period(since) == f.period(f.out.begun) {
			return nil
		}
		since = f.out.begun
		sh.eachSub(f.slot, func(s subscriber) { // as in search.moved
			if from := sh.wants[s.want].since; s.fresh && !s.covered && from.Before(since) {
				since = latest(from, sh.d.oldest())
			}
		})
	} else if f.closing == nil {
		return nil
	}
	return &Cursor{Target: targetKey(f.plan.query.Username), Since: since, UserID: id, Gaps: f.mergedGaps(sh.gaps[f.slot])}
}

// period numbers the times within which a cursor that moved without events
// is stored once. Each target has its own, so that not all are stored at once.
func (f *flight) period(at time.Time) int64 { return periodOf(f.hash, at) }

func periodOf(hash uint64, at time.Time) int64 {
	const seconds = int64(cursorEvery / time.Second)
	return (at.Unix() - int64(hash%uint64(seconds))) / seconds
}

// committed applies a poll once its batch is in the journal, or forgets it.
func (sh *shard) committed(f *flight, err error) {
	t := sh.targets.at(f.slot)
	if t.want < 0 {
		sh.end(f)
		return
	}
	sh.ended(f)
	t.state = idle
	for _, r := range f.waiters {
		r.settle()
	}
	if n := len(f.out.pages); n > 0 && (err != nil || !f.whole()) {
		sh.contacts[f.slot] = toSeconds(f.out.pages[n-1].at)
	}
	if err == nil {
		sh.apply(f)
	}
	sh.reschedule(f, err)
	sh.reuse(f)
}

// apply makes what was committed known. Nothing is remembered before: so a
// failed commit has nothing to undo, and the next poll finds it all again.
func (sh *shard) apply(f *flight) {
	t, out := sh.targets.at(f.slot), &f.out
	if f.cursor != nil {
		sh.setUserID(f.slot, f.cursor.UserID)
		sh.setGaps(f.slot, f.cursor.Gaps)
	}
	sh.reportGaps(f)
	t.post = max(t.post, toSeconds(f.posted))
	window := sh.windows.At(int(f.slot))
	if f.whole() && !out.unchanged {
		window.Renew(out.seen, f.newIDs)
	} else {
		window.Add(f.newIDs) // of older pages, when those of the first were not asked for
	}
	sh.windows.Set(int(f.slot), window)
	if !f.whole() {
		return
	}
	sh.learn(f)
	sh.keepVersion(f)
	t.since = toSeconds(out.begun)
	t.set(cold, false)
	delete(sh.contacts, f.slot)
	if t.is(fresh | shared) {
		sh.changeSubs(f.slot, func(s subscriber) subscriber {
			if s.covered {
				s.fresh, s.covered = false, false
			}
			return s
		})
	}
}

// keepVersion remembers which state of the first page has been dealt with. One
// with a post that was dropped has not: it may be fit to deliver later.
func (sh *shard) keepVersion(f *flight) {
	version := f.out.version
	if !f.sound {
		version = 0
	}
	if version != 0 || sh.versions.chunks != nil {
		*sh.versions.at(f.slot) = version
	}
}

func (sh *shard) countPoll(f *flight) {
	c, out := &sh.d.count, &f.out
	c.polls.Add(1)
	c.posts.Add(int64(out.posts))
	c.excess.Add(int64(out.excess))
	if out.panicked {
		c.panics.Add(1)
	}
	if out.shallow {
		c.shallow.Add(1)
	}
	if out.err != nil {
		c.pollErrors.Add(1)
	}
}
