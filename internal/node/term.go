package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/streamwatch/streamwatch/fleet"
)

// term is the loop that sends the beats of one term. It alone decides which parts are taken and
// given.
type term struct {
	n  *Node
	id string

	busy   bool // the Host takes or gives parts
	ended  chan outcome
	hosted fleet.Set // parts that the Host has, or has been asked to take
	taken  fleet.Set // parts that the store has assigned and the Host has not begun yet
	giving fleet.Set // parts that the Host has been asked to give

	next   time.Time                   // when the next beat is due
	last   time.Time                   // when the last beat ended
	failed bool                        // the last beat failed
	pause  *backoff.ExponentialBackOff // between beats that fail
	retry  time.Time                   // when to call the Host again after a task that failed
	again  *backoff.ExponentialBackOff // between tasks of the Host that fail
}

// tail counts calls of LostTail. found is the number of calls. told is the number that beats have
// reported to the store.
type tail struct{ found, told atomic.Uint64 }

func (t *tail) tell() { t.found.Add(1) }

var errTaken = errors.New("node: the store has taken parts that were not given")

func newTerm(n *Node) *term {
	t := &term{n: n, id: n.Fence().Term, pause: n.pause(), again: n.pause(), ended: make(chan outcome, 1), last: time.Now().Add(-n.times.gap)}
	t.next = time.Now().Add(t.interval())
	return t
}

// begin joins the fleet: it begins a term without parts and grants.
func (n *Node) begin(ctx context.Context) error {
	self := n.cfg.Node
	self.Seen = n.roster.beats()
	sent := time.Now()
	var st fleet.State
	err := n.call(ctx, func(ctx context.Context) (err error) { st, err = n.cfg.Members.Join(ctx, self); return err })
	if err != nil {
		return err
	}
	n.roster.note(st, sent)
	n.grants.reset(n.cfg.Host)
	n.epoch = st.Epoch
	n.cfg.Host.Epoch(st.Epoch)
	n.stand.begin(st.Fence, sent.Add(n.times.lease-n.times.margin))
	n.compare(st)
	n.Send(fleet.Signal{Kind: fleet.SignalMembers})
	n.cfg.Logger.Info("the node has joined the fleet", "node", self.Name, "term", st.Fence.Term, "members", len(st.Members))
	return nil
}

// rejoin begins the next term after one that has ended. It waits while another engine has this
// node's name, because two engines of one name would end each other's terms forever. If the
// store's answer to a Join was lost, rejoin takes the new term for another engine's. Then it
// waits until the lease of that term ends.
func (n *Node) rejoin(ctx context.Context) bool {
	pause, told := n.pause(), false
	own := n.Fence().Term // the store may still have it if it has lost its last writes
	for ctx.Err() == nil {
		wait := n.times.beat
		sent := time.Now()
		st, err := n.look(ctx)
		if err == nil {
			n.roster.note(st, sent)
			m, ok := named(st, n.cfg.Node.Name)
			if ok && m.Term != own && !n.roster.dead(&m) {
				if !told {
					n.cfg.Logger.Error("another engine has joined the fleet under this node's name: names must differ; this node waits until the other one is gone",
						"node", m.Node.Name, "term", m.Term)
					told = true
				}
			} else if err = n.begin(ctx); err == nil {
				return true
			}
		}
		if err != nil {
			n.roster.failed()
			wait = pause.NextBackOff()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return false
}

// compare logs a warning for each member with other settings. It is not an error: while a
// deployment restarts the nodes one by one, their settings differ.
func (n *Node) compare(st fleet.State) {
	for _, m := range st.Members {
		if m.Node.Fingerprint != n.cfg.Node.Fingerprint {
			n.cfg.Logger.Warn("a member of the fleet has other settings: Pace, FetchRate and cursors must be the same for all",
				"member", m.Node.Name, "fingerprint", m.Node.Fingerprint, "own", n.cfg.Node.Fingerprint)
		}
	}
}

// run sends beats until ctx or the term ends, and reports whether the term has ended. The first
// beat is due at once: it asks for parts, and tells the others what this node demands.
func (t *term) run(ctx context.Context) (ended bool) {
	t.next = time.Now()
	inner, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		if !t.busy {
			return
		}
		if o := <-t.ended; !ended { // Leave must not give again what the Host has just given
			t.done(o)
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		if !time.Now().Before(t.due()) && !t.beat(ctx) {
			return true
		}
		t.plan(inner)
		timer.Reset(time.Until(t.wake()))
		select {
		case <-timer.C:
		case <-t.n.stand.beats:
		case o := <-t.ended:
			t.done(o)
		case <-ctx.Done():
		}
	}
	return false
}

// interval returns the time to the next beat, with random variation.
func (t *term) interval() time.Duration {
	return time.Duration(float64(t.n.roster.interval()) * (0.9 + 0.2*rand.Float64()))
}

// due returns when the next beat is due. It may be requested, or a member may have to be taken for
// dead, before t.next, but not within times.gap after the last beat, nor while beats fail.
func (t *term) due() time.Time {
	at := t.next
	if t.failed {
		return at
	}
	if wish := t.n.stand.wished(); !wish.IsZero() {
		at = earlier(at, wish)
	}
	at = earlier(at, t.n.roster.nextEnd(t.id))
	if soonest := t.last.Add(t.n.times.gap); at.Before(soonest) {
		return soonest
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (t *term) wake() time.Time {
	if t.retry.IsZero() {
		return t.due()
	}
	return earlier(t.due(), t.retry)
}

// soon requests a beat now if the beat may bring this node parts, or may end the terms of dead
// members.
func (t *term) soon() {
	v := t.n.roster.view(t.id)
	own := t.n.Parts()
	if len(v.suspects) > 0 || !t.busy && v.free > 0 && own.Len() < v.want {
		t.n.stand.ask(0)
	}
}

// plan starts the next task of the Host if the Host is idle: to take parts that the store has
// assigned, or to give parts beyond the share.
func (t *term) plan(ctx context.Context) {
	if t.busy || time.Now().Before(t.retry) {
		return
	}
	t.retry = time.Time{}
	none := fleet.Set{}
	if above := t.hosted.Len() - t.n.roster.view(t.id).want; t.giving == none && t.n.stand.untold() == none {
		t.giving = t.hosted.First(min(above, atOnce))
	}
	switch {
	case t.taken != none:
		t.hosted = t.hosted.Plus(t.taken)
		t.start(ctx, task{"take", t.hosted, t.taken}, t.n.cfg.Host.Take)
	case t.giving != none:
		t.start(ctx, task{"give", t.hosted.Minus(t.giving), t.giving}, t.n.cfg.Host.Give)
	}
}

// task is a call of the Host that may take long.
type task struct {
	kind       string // "take" or "give"
	own, parts fleet.Set
}

type outcome struct {
	task
	err error
}

func (t *term) start(ctx context.Context, what task, do func(ctx context.Context, own, parts fleet.Set) error) {
	t.busy = true
	go func() { t.ended <- outcome{what, do(ctx, what.own, what.parts)} }()
}

// done handles the result of a task of the Host.
func (t *term) done(o outcome) {
	t.busy = false
	if o.err != nil {
		t.n.cfg.Logger.Error("a task of the engine failed: trying again", "task", o.kind, "parts", o.parts.Len(), "error", o.err)
		t.retry = time.Now().Add(t.again.NextBackOff())
		return
	}
	t.again.Reset()
	if o.kind == "take" {
		t.taken = t.taken.Minus(o.parts)
	} else {
		t.hosted, t.giving = t.hosted.Minus(o.parts), fleet.Set{}
		t.n.stand.gave(o.parts)
	}
	t.n.stand.ask(0) // to give the parts back, or to tell what this node demands with those it took
}
