package node

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// beat sends a beat and handles the answer. It reports false if the term has ended.
func (t *term) beat(ctx context.Context) bool {
	n := t.n
	n.stand.beat <- struct{}{}
	defer func() { <-n.stand.beat }()
	n.stand.sending()
	v := n.roster.view(t.id)
	budgets := n.cfg.Host.Budgets()
	if v.want == 0 && t.hosted.Plus(t.taken) == (fleet.Set{}) {
		for i := range budgets {
			budgets[i].Total = 0 // a node without parts leaves all to the others
		}
	}
	lost := n.tail.found.Load()
	b := fleet.Beat{
		Fence: n.Fence(), Give: n.stand.untold(), Want: t.want(v), Suspects: v.suspects, Weight: n.cfg.Node.Weight,
		Seen: n.roster.beats(), Lost: lost > n.tail.told.Load(),
		Asks: n.grants.asks(n.cfg.Host, budgets, v.says), Says: writeSays(budgets),
	}
	sent := time.Now()
	var st fleet.State
	err := n.call(ctx, func(ctx context.Context) (err error) { st, err = n.cfg.Members.Beat(ctx, b); return err })
	if err == nil && t.hosted.Minus(st.Own) != (fleet.Set{}) {
		err = errTaken
	}
	t.last = time.Now()
	if errors.Is(err, fleet.ErrFenced) || errors.Is(err, errTaken) {
		n.cfg.Logger.Error("the node's term has ended", "term", t.id, "error", err)
		n.stand.end()
		return false
	}
	if err != nil {
		t.missed(ctx, err)
		return true
	}
	n.stand.answered(st, b.Give, sent.Add(n.times.lease-n.times.margin))
	t.answered(b, st, sent, v)
	n.tail.told.Store(lost)
	return true
}

// want returns how many parts a beat asks for: the node's share, but at most atOnce more than it
// has, unless its share is all parts. While the Host is busy, a beat asks only for the parts that the
// node has.
func (t *term) want(v view) int {
	has := t.hosted.Plus(t.taken)
	switch {
	case t.busy:
		return has.Len()
	case v.want == fleet.Parts:
		return v.want
	}
	return min(v.want, has.Len()+atOnce)
}

// missed plans the next try after a beat that failed.
func (t *term) missed(ctx context.Context, err error) {
	t.n.roster.failed()
	if !t.failed && ctx.Err() == nil {
		t.n.cfg.Logger.Warn("a beat failed: it is tried again", "term", t.id, "error", err)
	}
	t.failed = true
	t.next = t.last.Add(t.pause.NextBackOff())
}

// answered handles the answer to a beat.
func (t *term) answered(b fleet.Beat, st fleet.State, sent time.Time, before view) {
	n := t.n
	if t.failed {
		n.cfg.Logger.Info("beats are answered again", "term", t.id)
	}
	t.failed = false
	t.pause.Reset()
	t.next = t.last.Add(t.interval())
	n.note(st, sent)
	n.grants.granted(n.cfg.Host, b.Asks, st.Grants)
	t.taken = t.taken.Plus(st.Own.Minus(t.hosted))

	after := n.roster.view(t.id)
	// Other nodes may now take the parts that this node gave, and the parts of the terms that
	// were ended.
	if b.Give != (fleet.Set{}) || len(before.suspects) > len(after.suspects) {
		n.Send(fleet.Signal{Kind: fleet.SignalMembers})
	}
	t.soon()
}

// giveAll makes the Host give all parts of a node that leaves. It sends beats until then.
func (t *term) giveAll(ctx context.Context) error {
	t.busy, t.hosted = true, t.n.Parts()
	gave := make(chan error, 1)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { gave <- t.n.cfg.Host.Give(inner, fleet.Set{}, t.hosted) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(t.due()))
		select {
		case err := <-gave:
			if err == nil {
				t.n.stand.gave(t.hosted)
			}
			return err
		case <-timer.C:
		case <-t.n.stand.beats:
		}
		if !time.Now().Before(t.due()) && !t.beat(ctx) {
			cancel()
			<-gave
			return fleet.ErrFenced
		}
	}
}

// note stores a state of the fleet that was requested at the time sent.
func (n *Node) note(st fleet.State, sent time.Time) {
	n.roster.note(st, sent)
	if n.epoch == st.Epoch {
		return
	}
	n.epoch = st.Epoch
	n.cfg.Host.Epoch(st.Epoch)
}
