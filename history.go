package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/record"
)

// History has the figures of the engine over a Range, in steps. In a fleet it has those of all nodes
// together.
type (
	History     = report.History
	HistoryStep = report.HistoryStep
	HistoryNode = report.HistoryNode
	Range       = report.Range
)

// Ranges of History.
const (
	LastHour = report.LastHour // by the minute
	LastDay  = report.LastDay  // by 20 minutes
	LastWeek = report.LastWeek // by 2 hours
)

// Problem is something that needs a person: see Engine.Problems.
type (
	Problem     = report.Problem
	Problems    = report.Problems
	ProblemKind = report.ProblemKind
)

// Kinds of problems, the worst first.
const (
	StoreFailing     = report.StoreFailing
	NodeMissing      = report.NodeMissing
	SourceDown       = report.SourceDown
	EndpointDisabled = report.EndpointDisabled
	EndpointFailing  = report.EndpointFailing
	MonitorPaused    = report.MonitorPaused
	RulePaused       = report.RulePaused
	SourceLimited    = report.SourceLimited
	CreditsLow       = report.CreditsLow
)

// EndpointHealth has the figures of an endpoint: see Engine.EndpointHealth.
type EndpointHealth = report.EndpointHealth

// reports keeps what the engine says of itself.
type reports struct {
	*report.Recorder
	node string // "" without a fleet

	mu     sync.Mutex
	others []report.Report // of the other nodes, read at readAt
	readAt time.Time

	problems problems
}

// othersFor is for how long the reports of other nodes are not read again: they are saved every minute.
const othersFor = 15 * time.Second

func (e *Engine) newReports() *reports {
	node, named := "", false
	if e.fleet != nil {
		node, named = e.fleet.name, e.cfg.Fleet.Name != ""
	}
	return &reports{Recorder: report.New(e.store.Ports().State, node, named, e.now()), node: node, problems: newProblems()}
}

// otherReports returns the reports of the other nodes. It reads them if they were not read just now.
func (e *Engine) otherReports(ctx context.Context) ([]report.Report, error) {
	r, now := e.reports, e.now()
	r.mu.Lock()
	others, fresh := r.others, !r.readAt.IsZero() && now.Sub(r.readAt).Abs() < othersFor
	r.mu.Unlock()
	if fresh {
		return others, nil
	}
	list, err := report.Read(ctx, e.store.Ports().State) // without mu: a caller that waits for a mutex cannot stop when its context ends
	if err != nil {
		return nil, fmt.Errorf("streamwatch: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others, r.readAt = slices.DeleteFunc(list, func(other report.Report) bool { return other.Node == r.node }), now
	return r.others, nil
}

// ownReport returns the report of this engine.
func (e *Engine) ownReport() report.Report {
	if e.life.current() != running {
		r := e.reports.Last()
		r.At = e.now()
		return r
	}
	return e.reports.Report(e.now(), e.counters)
}

// counters adds up the counters of the sources.
func (e *Engine) counters() (c report.Counters) {
	for _, s := range e.sourceStats() {
		c.Events += s.Events
		c.Calls += s.Calls
		c.Polls += s.Polls + s.Queries.Polls
		c.PollErrors += s.PollErrors + s.Queries.Errors
		c.Cost += s.Cost.Total
	}
	return c
}

// sourceStats returns the counters of each source by name.
func (e *Engine) sourceStats() map[string]detect.Stats {
	first, all := e.platforms.Stats()
	if all == nil {
		all = map[string]detect.Stats{"": first}
	}
	return all
}

// watchSources finds out which sources are down or limited.
func (e *Engine) watchSources(at time.Time) {
	all := e.sourceStats()
	var list []report.Polled
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		p := report.Polled{Name: name, Polls: s.Polls + s.Queries.Polls, Errors: s.PollErrors + s.Queries.Errors, LastError: s.LastError}
		for _, bucket := range slices.Sorted(maps.Keys(s.Closed)) {
			if until := s.Closed[bucket]; until.After(p.Until) {
				p.Until, p.Limit = until, "the platform limits calls"
				if bucket != "" {
					p.Limit = "the platform limits calls of " + bucket
				}
			}
		}
		if s.Cost.Closed {
			p.Limit = "what may be spent in a day is spent"
		}
		list = append(list, p)
	}
	e.reports.Watch(at, list)
}

// saveTime limits the time for saving a report at Shutdown.
const saveTime = 2 * time.Second

// runReports saves the engine's report every minute and when ctx ends, and looks for problems.
func (e *Engine) runReports(ctx context.Context) error {
	var looking sync.WaitGroup
	looking.Go(func() { e.findProblems(ctx) })
	defer looking.Wait()
	restored := false
	save := func(ctx context.Context, at time.Time, left bool) {
		var err error
		if !restored {
			err = e.reports.Restore(ctx, e.now())
			restored = err == nil
		}
		e.watchSources(at)
		r := e.reports.Report(at, e.counters)
		if r.Left = left; restored { // otherwise what is there would be lost
			err = e.reports.Save(ctx, r)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			e.cfg.Logger.Warn("cannot save the report of the last minute: the next one has it", "error", err)
		}
	}
	for at := e.now(); ; {
		save(ctx, at, false)
		now := e.now()
		next := now.Truncate(report.Every).Add(report.Every)
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-timer.C:
			at = next.Add(-1) // the minute that is over
		case <-ctx.Done():
			timer.Stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
			defer cancel()
			save(last, e.now(), true)
			return nil
		}
	}
}

// History returns the figures of a range, until now. In a fleet the other nodes' are up to a minute
// old. It works also before Start and after Shutdown. The error is the store's.
func (e *Engine) History(ctx context.Context, r Range) (History, error) {
	if !r.Valid() {
		return History{}, fmt.Errorf("streamwatch: Range %d is not allowed: want LastHour, LastDay or LastWeek", r)
	}
	others, err := e.otherReports(ctx)
	if err != nil {
		return History{}, err
	}
	return report.Sum(r, e.now(), append([]report.Report{e.ownReport()}, others...)), nil
}

// EndpointHealth returns the figures of endpoints by id. It leaves out those that the owner does not
// have. The error is the store's.
func (e *Engine) EndpointHealth(ctx context.Context, owner string, ids ...string) (map[string]EndpointHealth, error) {
	var own []string
	for _, id := range ids {
		_, err := e.store.Ports().Records.Get(ctx, owner, record.Key{Kind: record.Endpoint, ID: id})
		if err == nil {
			own = append(own, id)
		} else if !errors.Is(err, record.ErrNotFound) {
			return nil, err
		}
	}
	waiting, err := e.Log().Waiting(ctx, own...)
	if err != nil {
		return nil, err
	}
	others, err := e.otherReports(ctx)
	if err != nil {
		return nil, err
	}
	all := append([]report.Report{e.reports.Endpoints(own...)}, others...)
	list := make(map[string]EndpointHealth, len(own))
	for _, id := range own {
		h := report.Health(all, id, e.now())
		h.Waiting, h.Oldest = waiting[id].Count, waiting[id].Oldest
		list[id] = h
	}
	return list, nil
}
