package report

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/record"
)

// Recorder collects the report of an engine. It is safe for concurrent use.
type Recorder struct {
	state record.State

	mu      sync.Mutex
	report  Report
	last    Counters // when the rings were last brought up to date
	now     step     // what ended since then, without what Counters have; its Latency is in arrived
	arrived latency.Histogram
	before  latency.Snapshot // of arrived, at that time

	watched   []watched
	watchedAt time.Time // zero for never
}

// Counters are the totals of an engine since it was made.
type Counters struct {
	Events, Calls, Polls, PollErrors int64
	Cost                             float64
}

// New returns an empty Recorder of a node. named means that the node will have this name again after
// a restart.
func New(state record.State, node string, named bool, now time.Time) *Recorder {
	return &Recorder{state: state, report: Report{Node: node, Named: named, Began: now, Endpoints: map[string]*endpoint{}}}
}

// Settled counts the outcome of a delivery.
func (r *Recorder) Settled(o dispatch.Settled, now time.Time) {
	d, a := o.Delivery, o.Settlement.Attempt
	if a == nil { // the endpoint was deleted
		return
	}
	ok := o.Settlement.State == deliver.StateDelivered
	r.mu.Lock()
	defer r.mu.Unlock()
	if !o.Refused {
		r.now.Attempts++
		if ok {
			r.now.Acknowledged++
		} else {
			r.now.Failed++
		}
		if ok && !o.Replayed && !d.Event.PublishedAt.IsZero() {
			r.arrived.Record(a.At.Add(a.Duration).Sub(d.Event.PublishedAt))
			for i, t := range took(d.Event, a) {
				r.now.Took[i] += t
			}
		}
	}
	e := r.report.Endpoints[d.EndpointID]
	if e == nil {
		if len(r.report.Endpoints) >= maxEndpoints {
			return
		}
		e = &endpoint{Owner: d.Owner()}
		r.report.Endpoints[d.EndpointID] = e
	}
	if !ok && !o.Refused {
		e.failed(*a)
	}
	if o.Settlement.State.Final() {
		e.end(d, o.Settlement.State, now)
	}
}

// Drop forgets the endpoints of the owners for which gone returns true.
func (r *Recorder) Drop(gone func(owner string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	forget(r.report.Endpoints, gone)
}

func forget(endpoints map[string]*endpoint, gone func(owner string) bool) {
	maps.DeleteFunc(endpoints, func(_ string, e *endpoint) bool { return gone(e.Owner) })
}

// Report counts what has happened since the last call in the step at the time at, and returns a copy
// of the report. It calls counters.
func (r *Recorder) Report(at time.Time, counters func() Counters) Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	arrived, c := r.arrived.Snapshot(), counters()
	r.now.Latency = arrived.Sub(r.before)
	r.now.Events, r.now.Calls = c.Events-r.last.Events, c.Calls-r.last.Calls
	r.now.Polls, r.now.PollErrors = c.Polls-r.last.Polls, c.PollErrors-r.last.PollErrors
	r.now.Cost = c.Cost - r.last.Cost
	for i := range r.report.Rings {
		r.report.Rings[i].add(Range(i), at, &r.now)
	}
	r.last, r.before, r.now = c, arrived, step{}
	maps.DeleteFunc(r.report.Endpoints, func(_ string, e *endpoint) bool { return e.expire(at) })
	r.report.At = at
	return r.copy()
}

// Last returns a copy of the last Report.
func (r *Recorder) Last() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copy()
}

// Endpoints returns a report that has only the counts of some endpoints.
func (r *Recorder) Endpoints(ids ...string) Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Report{Node: r.report.Node, Began: r.report.Began, Endpoints: make(map[string]*endpoint, len(ids))}
	for _, id := range ids {
		if e := r.report.Endpoints[id]; e != nil {
			c.Endpoints[id] = e.copy()
		}
	}
	return c
}

// copy returns a copy of the report that shares nothing that changes.
func (r *Recorder) copy() Report {
	c := r.report
	for i := range c.Rings {
		c.Rings[i] = slices.Clone(c.Rings[i])
	}
	c.Endpoints = make(map[string]*endpoint, len(r.report.Endpoints))
	for id, e := range r.report.Endpoints {
		c.Endpoints[id] = e.copy()
	}
	return c
}

// Restore adds what an earlier engine of this name has saved, and makes the name known to Read.
func (r *Recorder) Restore(ctx context.Context, now time.Time) error {
	saved, _, err := load[Report](ctx, r.state, nameOf(r.report.Node))
	if err == nil {
		err = enter(ctx, r.state, r.report.Node, now)
	}
	if err != nil || saved.At.IsZero() || saved.old(now) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Began = saved.Began
	for _, s := range saved.Sources {
		if r.watchedAt.IsZero() {
			r.watched = append(r.watched, watched{Source: s})
		}
	}
	for i := range saved.Rings {
		for k := range saved.Rings[i] {
			s := &saved.Rings[i][k]
			r.report.Rings[i].add(Range(i), s.From, s)
		}
	}
	for id, e := range saved.Endpoints {
		if own := r.report.Endpoints[id]; own != nil {
			e.add(own)
		}
		r.report.Endpoints[id] = e
	}
	return nil
}

// Save stores a report in the place of the last one of its node.
func (r *Recorder) Save(ctx context.Context, report Report) error {
	for {
		stored, err := r.state.Get(ctx, nameOf(report.Node))
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		if err = swap(ctx, r.state, nameOf(report.Node), stored.Version, &report); !errors.Is(err, record.ErrConflict) {
			return err
		}
	}
}
