package detect

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/detect/due"
	"github.com/streamwatch/streamwatch/fetcher"
)

// shard owns a share of the targets. All of its state is touched by its
// goroutine alone; others talk to it through its mailbox.
type shard struct {
	d     *Detector
	mail  *mailbox
	slots int // polls that may be under way at once

	targets  []target
	free     []int32
	index    map[string]int32   // by target key
	bySource map[string][]int32 // slots a source subscribes to
	pending  map[int32]*pending // polls waiting for their commit
	sched    due.Heap

	fetching  int // polls under way
	hasTicket bool
	ticket    time.Time
	stopping  bool

	inPoll  map[string]struct{} // scratch of judge
	scratch []byte
}

// pending is a judged poll that waits for its commit.
type pending struct {
	out    outcome
	newIDs []string
	cursor *Cursor
	gap    *Gap
}

func newShard(d *Detector, slots int) *shard {
	return &shard{d: d, mail: newMailbox(), slots: slots,
		index: map[string]int32{}, bySource: map[string][]int32{},
		pending: map[int32]*pending{}, inPoll: map[string]struct{}{}}
}

// run is the shard's goroutine. It ends when the detector stops and no poll or
// commit of this shard is under way; ctx cuts the polls short.
func (sh *shard) run(ctx context.Context) {
	var msgs []message
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	stop := sh.d.stop
	for {
		msgs = sh.mail.take(msgs)
		for _, m := range msgs {
			sh.handle(m)
		}
		clear(msgs)
		wake := sh.startDue(ctx)
		if sh.stopping && sh.fetching == 0 && len(sh.pending) == 0 {
			return
		}
		timer.Reset(wake)
		select {
		case <-sh.mail.bell:
		case <-timer.C:
		case <-stop:
			stop, sh.stopping = nil, true
		case <-ctx.Done():
			sh.stopping = true
			// From here on only polls and commits that end can wake the shard.
			ctx = context.WithoutCancel(ctx)
		}
	}
}

func (sh *shard) handle(m message) {
	switch {
	case m.set != nil:
		sh.set(m.set)
	case m.remove != nil:
		sh.remove(m.remove)
	case m.fetched != nil:
		sh.fetched(m.fetched.slot, m.fetched.out)
	case m.committed != nil:
		sh.committed(m.committed.slot, m.committed.err)
	}
}

// startDue starts the polls that are due, as far as slots and budget allow,
// and says how long to sleep if nothing else happens.
func (sh *shard) startDue(ctx context.Context) time.Duration {
	for !sh.stopping {
		slot, at, ok := sh.sched.Next()
		now := sh.d.clock()
		switch {
		case !ok || sh.fetching >= sh.slots || len(sh.pending) >= maxOpen:
			return time.Hour // a message will wake the shard
		case at > now:
			return time.Duration(at - now)
		}
		if closed := time.Until(sh.d.budget.openAt()); closed > 0 {
			return closed
		}
		if !sh.hasTicket {
			sh.ticket, sh.hasTicket = sh.d.budget.ticket(time.Now()), true
		}
		if early := time.Until(sh.ticket); early > 0 {
			return early
		}
		sh.hasTicket = false
		sh.start(ctx, slot)
	}
	return time.Hour
}

// start begins a target's poll.
func (sh *shard) start(ctx context.Context, slot int32) {
	t := &sh.targets[slot]
	sh.sched.Remove(slot)
	t.state, t.again = fetching, false
	sh.fetching++
	known := t.window // its own copy: targets move when there are more
	p := plan{
		seen:     known.Poll(),
		query:    fetcher.TimelineQuery{Username: t.username, UserID: t.userID, Limit: sh.d.cfg.PageSize},
		cutoff:   t.cutoff(sh.d.cfg.Overlap),
		expected: known.Len() > 0 || t.cold,
	}
	if t.anyFresh() {
		for i := range t.subs {
			t.subs[i].covered = t.subs[i].fresh
		}
	} else {
		p.query.Seen = p.seen.Has
	}
	go func() {
		out := sh.d.poll(ctx, p)
		sh.mail.put(message{fetched: &fetched{slot: slot, out: out}})
	}()
}

// fetched takes a poll's outcome: judge it, and commit what came of it.
func (sh *shard) fetched(slot int32, out outcome) {
	t := &sh.targets[slot]
	sh.fetching--
	sh.countPoll(&out)
	if len(t.subs) == 0 {
		t.state = idle
		sh.release(slot)
		return
	}
	if out.err != nil {
		sh.noteRateLimit(t, out.err)
		out.giveUpPage(t)
	}
	if out.skew != 0 && t.skew == 0 {
		sh.d.cfg.Logger.Warn("clocks differ", "username", t.username, "ahead of upstream", out.skew)
	}
	if len(out.pages) > 0 {
		t.skew = out.skew
	}
	v := sh.judge(t, &out)
	p := &pending{out: out, newIDs: v.newIDs}
	if out.capped {
		to := out.reach
		if to.IsZero() {
			to = out.begun
		}
		p.gap = &Gap{Target: t.key, From: out.cutoff, To: to, FoundAt: out.begun}
	}
	p.cursor = t.moved(p)
	sh.pending[slot] = p
	t.state = committing
	if p.cursor == nil && len(v.events) == 0 {
		sh.committed(slot, nil)
		return
	}
	sh.d.committer.put(waiting{batch: &Batch{Cursor: p.cursor, Events: v.events}, shard: sh, slot: slot})
}

// moved is the cursor to store with this poll, nil when that can wait: a
// stored cursor that lags only makes the next start read further back.
func (t *target) moved(p *pending) *Cursor {
	if p.out.err != nil || !(p.out.complete || p.gap != nil) {
		return nil
	}
	learned := t.userID == "" && p.out.userID != ""
	if p.gap == nil && !learned && !t.stored.IsZero() && p.out.begun.Sub(t.stored) < cursorEvery && !p.out.begun.Before(t.stored) && len(p.newIDs) == 0 {
		return nil
	}
	c := &Cursor{Target: t.key, Since: p.out.begun, UserID: t.userID, Gaps: t.gaps}
	if learned {
		c.UserID = p.out.userID
	}
	if p.gap != nil {
		c.Gaps = addGap(t.gaps, *p.gap)
	}
	return c
}

// addGap appends to a copy; when there are too many, the oldest two become one
// range that covers both.
func addGap(gaps []Gap, g Gap) []Gap {
	out := append(append(make([]Gap, 0, len(gaps)+1), gaps...), g)
	if len(out) > MaxGaps {
		if out[0].From.Before(out[1].From) {
			out[1].From = out[0].From
		}
		if out[0].To.After(out[1].To) {
			out[1].To = out[0].To
		}
		out = out[1:]
	}
	return out
}

// committed applies a poll once its batch is in the journal, or forgets it.
func (sh *shard) committed(slot int32, err error) {
	t := &sh.targets[slot]
	p := sh.pending[slot]
	delete(sh.pending, slot)
	t.state = idle
	for _, r := range t.waiters {
		r.settle()
	}
	t.waiters = nil
	if len(t.subs) == 0 {
		sh.release(slot)
		return
	}
	if err != nil {
		// The store's fault and not the account's: it is due again soon.
		t.failures++
		sh.sched.Set(slot, sh.d.clock()+int64(min(sh.d.backoff(t.failures), max(t.interval, sh.d.cfg.MinBackoff))))
		return
	}
	sh.apply(t, p)
	sh.reschedule(slot, p.out.err)
}

// unreadable is how many polls in a row may fail before an older page that
// can not be read counts as a gap. Failed commits are not the page's.
const unreadable = 8

// giveUpPage makes a gap of what an older page hides that keeps failing: the
// newer pages must not wait for it for ever.
func (out *outcome) giveUpPage(t *target) {
	var rl *fetcher.RateLimitError
	if len(out.pages) > 0 && t.trouble.count >= unreadable && !errors.As(out.err, &rl) && !errors.Is(out.err, errStopped) {
		out.err, out.capped = nil, true
	}
}

// apply makes what was committed known. Nothing is remembered before: so a
// failed commit has nothing to undo, and the next poll finds it all again.
func (sh *shard) apply(t *target, p *pending) {
	if p.cursor != nil {
		t.stored, t.gaps, t.userID = p.cursor.Since, p.cursor.Gaps, p.cursor.UserID
	}
	if p.gap != nil {
		sh.d.count.gaps.Add(1)
		sh.d.cfg.Logger.Warn("gap", "target", p.gap.Target, "from", p.gap.From, "to", p.gap.To)
		sh.d.cfg.OnGap(*p.gap)
	}
	if p.out.err != nil || !(p.out.complete || p.gap != nil) {
		t.window.Add(p.newIDs)
		return
	}
	t.window.Renew(p.out.seen, p.newIDs)
	t.since, t.cold = p.out.begun, false
	for i := range t.subs {
		if s := &t.subs[i]; s.covered {
			s.fresh, s.covered = false, false
		}
	}
}

// reschedule sets a target's next poll after one that ended with err.
func (sh *shard) reschedule(slot int32, err error) {
	t := &sh.targets[slot]
	now := sh.d.clock()
	if err != nil {
		t.failures++
		sh.followTrouble(t, err)
		sh.sched.Set(slot, now+int64(sh.retryWait(t, err)))
		return
	}
	t.failures = 0
	sh.followTrouble(t, nil)
	if t.again {
		sh.sched.Set(slot, now)
		return
	}
	sh.sched.Set(slot, sh.d.gridAfter(now, t.hash, t.interval))
}

// retryWait is how long a failing target rests: as long as the upstream asked,
// never less, and otherwise ever longer.
func (sh *shard) retryWait(t *target, err error) time.Duration {
	wait := sh.d.backoff(t.failures)
	var asked time.Duration
	var rl *fetcher.RateLimitError
	var se *fetcher.StatusError
	switch {
	case errors.As(err, &rl):
		asked = rl.RetryAfter
	case errors.As(err, &se):
		asked = se.RetryAfter
	}
	if asked > 0 {
		asked = min(asked, maxClosed)
		wait = max(wait, asked+rand.N(asked/10+1))
	}
	return wait
}

// noteRateLimit closes the budget when the whole Fetcher is over its limit.
func (sh *shard) noteRateLimit(t *target, err error) {
	var rl *fetcher.RateLimitError
	if !errors.As(err, &rl) {
		return
	}
	sh.d.count.rateLimited.Add(1)
	if rl.Target {
		return
	}
	wait := rl.RetryAfter
	if wait <= 0 {
		wait = sh.d.backoff(t.failures + 1)
	}
	sh.d.budget.closeUntil(time.Now().Add(wait))
}

func (sh *shard) countPoll(out *outcome) {
	c := &sh.d.count
	c.polls.Add(1)
	c.posts.Add(int64(out.posts))
	c.excess.Add(int64(out.excess))
	if out.panicked {
		c.panics.Add(1)
	}
	if out.err != nil {
		c.pollErrors.Add(1)
	}
}

// jitter spreads d by ±20 %.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
