package main

import (
	"context"
	"fmt"
	"time"
)

// startsWithin bounds the time from the start of a process to its first poll
// (I7). The run ends with an error when a process takes four times that.
const startsWithin = 5 * time.Second

// stopNumber is the number of the request to stop.
const stopNumber = -1

// life is one process, until it ends as planned.
type life struct {
	*round
	plan
	proc *process
	// goal says whether the end may begin; customers want nothing new meanwhile. It
	// is nil in a life that ends at its own time.
	goal func() bool

	due  time.Time // when the next step towards the end is due; zero while that is open
	step int
	// suffers is when to disturb the backend; zero for never.
	suffers time.Time
}

// live runs a process to its end, and checks what it left.
func (r *round) live(ctx context.Context, p plan, goal func() bool) error {
	r.lived++
	proc, err := startProcess(childConfig{
		Life: r.lived, Platform: r.world.platformURL, Receiver: r.world.receiverURL, Store: r.backend.config(),
		Point: p.point.name, Skip: p.skip, Bug: r.bug,
	})
	if err != nil {
		return err
	}
	r.tally.starts++
	l := &life{round: r, plan: p, proc: proc, goal: goal}
	tick := time.NewTicker(4 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case rep, ok := <-proc.replies:
			if !ok {
				return r.ended(ctx, proc, p)
			}
			switch {
			case rep.Unanswered != "":
				r.world.receiver.unanswered(rep.Unanswered)
			case rep.N > 0:
				r.customers.answered(rep)
			}
		case now := <-tick.C:
			if ctx.Err() != nil {
				proc.kill()
				continue
			}
			l.tick(now)
		}
	}
}

func (l *life) tick(now time.Time) {
	if l.due.IsZero() {
		l.aim(now)
	}
	if !l.suffers.IsZero() && !now.Before(l.suffers) {
		l.disturb()
	}
	if !l.due.IsZero() && !now.Before(l.due) {
		l.end(now)
	}
	if l.step == 0 || l.point.when != stopping {
		l.serve()
	}
}

// aim decides when the end begins, once that is known.
func (l *life) aim(now time.Time) {
	polled, ok := l.world.firstPoll(l.lived)
	age := now.Sub(l.proc.started)
	switch {
	case !ok && age > 4*startsWithin:
		l.giveUp(now, "I7", "has not polled")
	case !ok:
	case l.goal == nil:
		l.due = polled.Add(l.after)
		if l.disturbed > 0 {
			l.suffers = polled.Add(l.disturbed)
		}
	case l.goal():
		l.due = now.Add(l.after)
	case age > l.patience:
		l.giveUp(now, "rest", "has not finished what it had to do")
	}
}

func (l *life) giveUp(now time.Time, invariant, what string) {
	l.violated(invariant, "process %d %s %s after its start; %d operations wait for an answer and %d to be asked; it says %q",
		l.lived, what, now.Sub(l.proc.started), len(l.customers.flight), len(l.customers.waiting), tail(l.proc.stderr.String(), 500))
	l.proc.kill()
	l.due = now.Add(time.Hour)
}

// end takes the next step towards the end. For a named point, it first waits for the
// process to die there; a process that lives on is killed. One that was asked to stop
// ends at its point or by itself, and it is a violation when it has to be killed.
func (l *life) end(now time.Time) {
	l.step++
	switch {
	case l.step == 1 && l.point.when == stopping:
		l.proc.ask(op{N: stopNumber, Do: doStop})
		l.due = now.Add(l.patience)
	case l.step == 1 && l.point.name != "":
		l.due = now.Add(patience)
	case l.step == 2 && l.point.when == stopping:
		l.giveUp(now, "process", fmt.Sprintf("has not stopped within %s, and was killed", l.patience))
	default:
		l.proc.kill()
		l.due = now.Add(time.Hour)
	}
}

// serve asks one thing that customers want.
func (l *life) serve() {
	if l.goal == nil {
		l.customers.want(l.point.do)
		l.customers.want("")
	}
	if t := l.customers.next(); t != nil {
		l.proc.ask(t.op)
	}
}

// disturb has the backend fail and come back, and lets the process live on a little
// to meet it.
func (l *life) disturb() {
	l.suffers = time.Time{}
	how, err := l.backend.disturb()
	if err != nil {
		l.violated("store", "after %s: %v", how, err)
	}
	if how != "" {
		l.tally.disturbed[how]++
		l.due = time.Now().Add(l.after)
	}
}
