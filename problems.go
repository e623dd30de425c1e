package streamwatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/report"
)

const (
	// problemsFor is for how long problems are not looked for again. To look takes at most a tenth of
	// the time: there may be very many records.
	problemsFor = 15 * time.Second
	// briefly is how long Problems waits for new ones, which is enough where there are few records.
	briefly = 30 * time.Millisecond
)

// problems has the problems that were found last. They are looked for only while someone asks.
type problems struct {
	ask chan struct{} // buffered, size 1; holds a value while they are wanted

	mu    sync.Mutex
	last  Problems
	next  time.Time     // by the runtime's clock: not to look again before
	found chan struct{} // closed when the next ones are found

	// These are used by findProblems only.
	failing   time.Time // since when the store takes no writes; zero if it does
	ofRecords []Problem
}

func newProblems() problems {
	return problems{ask: make(chan struct{}, 1), found: make(chan struct{})}
}

// Problems returns what needs a person, the worst first. It is made in the background when it is
// asked for, at most every 15 s, and Problems waits for that briefly: At says when it was made. The
// first one it waits for, which is made at Start. The error is ErrNotRunning or ctx's error.
func (e *Engine) Problems(ctx context.Context) (Problems, error) {
	if e.life.current() != running {
		return Problems{}, ErrNotRunning
	}
	p := &e.reports.problems
	p.mu.Lock()
	last, found, old := p.last, p.found, !time.Now().Before(p.next)
	p.mu.Unlock()
	if !old {
		return last, nil
	}
	select {
	case p.ask <- struct{}{}:
	default:
	}
	var enough <-chan time.Time
	if !last.At.IsZero() {
		timer := time.NewTimer(briefly)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-found:
	case <-enough:
	case <-ctx.Done():
		return Problems{}, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, nil
}

// findProblems looks for problems at first and when they are asked for, until ctx ends.
func (e *Engine) findProblems(ctx context.Context) {
	p := &e.reports.problems
	for {
		began := time.Now()
		list := e.currentProblems(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.last = Problems{At: e.now(), List: report.Sort(list)}
		p.next = time.Now().Add(max(problemsFor, 9*time.Since(began)))
		close(p.found)
		p.found = make(chan struct{})
		p.mu.Unlock()
		select { // what asked for these needs no others
		case <-p.ask:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ask:
		}
	}
}

// lookTime limits the time for reading the records.
const lookTime = time.Minute

// currentProblems looks for problems. While the store fails, those of the records are as before.
func (e *Engine) currentProblems(ctx context.Context) (list []Problem) {
	p, now := &e.reports.problems, e.now()
	failing := e.Writable(ctx)
	if failing == nil {
		p.failing = time.Time{}
		if err := e.lookAtRecords(ctx, now); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Warn("cannot look for problems in the records: those found before are shown", "error", err)
		}
	} else {
		if p.failing.IsZero() {
			p.failing = now
		}
		list = append(list, Problem{Kind: StoreFailing, Severe: true, Since: p.failing, Reason: failing.Error()})
	}
	e.reports.mu.Lock()
	all := append([]report.Report{e.ownReport()}, e.reports.others...)
	e.reports.mu.Unlock()
	return slices.Concat(list, report.OfReports(all, now), p.ofRecords)
}

// lookAtRecords finds the problems of the records.
func (e *Engine) lookAtRecords(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	others, err := e.otherReports(ctx)
	if err != nil {
		return err
	}
	var ledger billing.Ledger
	if e.meter != nil {
		ledger = e.store.Ports().Ledger
	}
	found, err := report.OfRecords(ctx, e.store.Ports().Records, ledger, append([]report.Report{e.ownReport()}, others...), now)
	if err != nil {
		return err
	}
	p := &e.reports.problems
	for i := range found {
		switch of := &found[i]; of.Kind {
		case EndpointFailing:
			if lane, ok := e.Lane(of.ID); ok {
				of.Until = lane.NextTry
			}
		case CreditsLow: // since it was found first
			k := slices.IndexFunc(p.ofRecords, func(was Problem) bool { return was.Kind == of.Kind && was.ID == of.ID })
			if k >= 0 {
				of.Since = p.ofRecords[k].Since
			}
		}
	}
	p.ofRecords = found
	return nil
}
