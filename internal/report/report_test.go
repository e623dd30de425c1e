package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

var start = time.Date(2026, 3, 1, 23, 59, 30, 0, time.UTC)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world has the state of a store, and a clock.
type world struct {
	t     *testing.T
	state record.State
	now   time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: start}
	w.state = memory.New(memory.Options{Now: func() time.Time { return w.now }}).Ports().State
	return w
}

// node is an engine that counts.
type node struct {
	*report.Recorder
	w        *world
	counters report.Counters
}

// node returns an engine with this name that has read back what an earlier one has saved.
func (w *world) node(name string) *node {
	w.t.Helper()
	n := &node{Recorder: report.New(w.state, name, name != "", w.now), w: w}
	ok(w.t, n.Restore(w.t.Context(), w.now))
	return n
}

func (n *node) report() report.Report {
	return n.Report(n.w.now, func() report.Counters { return n.counters })
}

func (n *node) save() {
	n.w.t.Helper()
	ok(n.w.t, n.Save(n.w.t.Context(), n.report()))
}

// settle has an attempt end in a state. The delivery was created so long ago.
func (n *node) settle(endpoint string, state deliver.State, age time.Duration, change ...func(*dispatch.Settled)) {
	ev := &deliver.Event{Source: deliver.Source{Owner: "acme"}, PublishedAt: n.w.now.Add(-age - 10*time.Second), EarliestAt: n.w.now.Add(-age - 8*time.Second),
		RequestedAt: n.w.now.Add(-age - 7*time.Second), FetchedAt: n.w.now.Add(-age - 4*time.Second), CommittedAt: n.w.now.Add(-age)}
	a := &deliver.Attempt{N: 1, At: n.w.now.Add(-time.Second), Duration: time.Second}
	if state != deliver.StateDelivered {
		a.StatusCode, a.Error, a.ResponsePreview = 500, "status 500", strings.Repeat("é", 1000)
	}
	o := dispatch.Settled{Delivery: &deliver.Delivery{EndpointID: endpoint, Event: ev, CreatedAt: ev.CommittedAt},
		Settlement: &deliver.Settlement{State: state, Attempt: a}}
	for _, f := range change {
		f(&o)
	}
	n.Settled(o, n.w.now)
}

func (w *world) read() []report.Report {
	w.t.Helper()
	list, err := report.Read(w.t.Context(), w.state)
	ok(w.t, err)
	return list
}

// steps shows the known steps of a range.
func (w *world) steps(r report.Range) string {
	var list []string
	h := report.Sum(r, w.now, w.read())
	for i, s := range h.Steps {
		if i > 0 && s.From.Sub(h.Steps[i-1].From) != h.Length {
			w.t.Errorf("step %d begins at %v, the one before at %v", i, s.From, h.Steps[i-1].From)
		}
		if s.Known {
			list = append(list, fmt.Sprintf("%s %d/%d+%d %d", s.From.Format("2T15:04"), s.Events, s.Acknowledged, s.Failed, s.Latency.Count()))
		}
	}
	return strings.Join(list, ", ")
}

func (w *world) expect(when, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

func TestStepsBeginAtRoundTimes(t *testing.T) {
	w := newWorld(t)
	a := w.node("a")
	step := func(after time.Duration, n *node, events int64) {
		w.now = w.now.Add(after)
		n.counters.Events += events
		n.settle("e", deliver.StateDelivered, 0)
		n.settle("e", deliver.StateRetrying, 0)
		n.save()
	}
	step(0, a, 1)
	step(20*time.Second, a, 2)
	step(20*time.Second, a, 3)
	w.expect("the hour", w.steps(report.LastHour), "1T23:59 3/2+2 2, 2T00:00 3/1+1 1")
	w.expect("the day", w.steps(report.LastDay), "1T23:40 3/2+2 2, 2T00:00 3/1+1 1")
	w.expect("the week", w.steps(report.LastWeek), "1T22:00 3/2+2 2, 2T00:00 3/1+1 1")

	w.now = w.now.Add(time.Minute)
	a = w.node("a") // after a restart
	step(10*time.Second, a, 5)
	w.expect("after a restart", w.steps(report.LastHour), "1T23:59 3/2+2 2, 2T00:00 3/1+1 1, 2T00:01 5/1+1 1")

	b := w.node("b")
	step(time.Second, b, 7)
	w.expect("two nodes", w.steps(report.LastHour), "1T23:59 3/2+2 2, 2T00:00 3/1+1 1, 2T00:01 12/2+2 2")
	if list := w.read(); len(list) != 2 || list[0].Node != "a" || list[1].Node != "b" {
		t.Errorf("%d reports, want those of a and b", len(list))
	}

	step(58*time.Minute, a, 1)
	w.expect("an hour later", w.steps(report.LastHour), "2T00:00 3/1+1 1, 2T00:01 12/2+2 2, 2T00:59 1/1+1 1")
	step(24*time.Hour, a, 1)
	w.expect("a day later", w.steps(report.LastDay), "3T00:40 1/1+1 1")
	w.expect("a day later, the week", w.steps(report.LastWeek), "1T22:00 3/2+2 2, 2T00:00 16/4+4 4, 3T00:00 1/1+1 1")
	w.now = w.now.Add(8*24*time.Hour - time.Minute)
	w.expect("a week later", w.steps(report.LastWeek), "")
	if nodes := report.Sum(report.LastWeek, w.now, w.read()).Nodes; len(nodes) != 1 || nodes[0].Name != "a" {
		t.Errorf("figures of %v, want those of a: b has saved none for more than eight days", nodes)
	}
	w.node("c") // removes what is too old
	if _, err := w.state.Get(t.Context(), record.Name{Space: "report", ID: "b"}); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("the report of b: %v, want it removed", err)
	}
}

// The causes of a step make up its latency, and are of the same deliveries.
func TestCauses(t *testing.T) {
	w := newWorld(t)
	n := w.node("")
	n.settle("e", deliver.StateDelivered, 2*time.Second)
	n.settle("e", deliver.StateDelivered, 4*time.Second, func(o *dispatch.Settled) { o.Settlement.Attempt.N = 2 })
	for name, change := range map[string]func(*dispatch.Settled){
		"a replay":       func(o *dispatch.Settled) { o.Replayed = true },
		"without a time": func(o *dispatch.Settled) { o.Delivery.Event.PublishedAt = time.Time{} },
	} {
		n.settle(name, deliver.StateDelivered, time.Hour, change)
	}
	n.save()
	h := report.Sum(report.LastHour, w.now, w.read())
	s := h.Steps[len(h.Steps)-1]
	if s.Acknowledged != 4 || s.Latency.Count() != 2 {
		t.Errorf("%d acknowledged, a latency of %d, want 4 and 2", s.Acknowledged, s.Latency.Count())
	}
	var got []string
	for _, c := range s.Causes {
		got = append(got, fmt.Sprintf("%s %v", c.Name, c.Mean))
	}
	// The first took 12 s, of them 1 s until its attempt; the second 14 s, 3 s until its second attempt.
	w.expect("causes", strings.Join(got, ", "), "schedule 2s, wait 1s, fetch 3s, process 0s, commit 4s, handover 500ms, retries 1.5s, send 1s")
	if mean := s.Latency.Mean(); mean != 13*time.Second {
		t.Errorf("a mean of %v, want 13s", mean)
	}
}

func TestEndpoints(t *testing.T) {
	w := newWorld(t)
	a, b := w.node("a"), w.node("b")
	expect := func(when string, delivered, failed int64, last string) {
		t.Helper()
		a.save()
		b.save()
		h := report.Health(w.read(), "e", w.now)
		w.expect(when, fmt.Sprintf("%d+%d %s", h.Delivered, h.Failed, h.LastError.Error), fmt.Sprintf("%d+%d %s", delivered, failed, last))
		if n := len(h.LastError.ResponsePreview); n > 512 {
			t.Errorf("%s: a preview of %d bytes, want at most 512", when, n)
		}
	}
	since := func() time.Duration { return w.now.Sub(report.Health(w.read(), "e", w.now).Since) }
	a.settle("e", deliver.StateDelivered, 0)
	b.settle("e", deliver.StateDelivered, 0)
	expect("two nodes", 2, 0, "")
	a.settle("e", deliver.StateRetrying, 0)
	expect("a retry", 2, 0, "status 500")
	a.settle("e", deliver.StateFailed, 5*time.Minute)
	expect("a failure", 2, 1, "status 500")
	a.settle("e", deliver.StateFailed, 0, func(o *dispatch.Settled) { o.Refused = true; o.Settlement.Attempt.Error = "disabled" })
	expect("one that was refused", 2, 2, "status 500")
	a.settle("e", deliver.StateDelivered, 5*time.Minute, func(o *dispatch.Settled) { o.Delivery.Uncounted = 4 })
	expect("one that was reopened", 3, 1, "status 500")
	a.settle("e", deliver.StateFailed, 0, func(o *dispatch.Settled) { o.Settlement.Attempt = nil })
	expect("one whose endpoint was deleted", 3, 1, "status 500")
	a.settle("e", deliver.StateDelivered, 24*time.Hour)
	expect("one that was created a day ago", 3, 1, "status 500")
	a.settle("other", deliver.StateDelivered, 0)
	expect("one of another endpoint", 3, 1, "status 500")
	if got := since(); got != 0 {
		t.Errorf("counts for %v, want since the first engine began", got)
	}
	w.now = w.now.Add(20 * time.Minute)
	a.settle("e", deliver.StateDelivered, 0)
	w.now = w.now.Add(22*time.Hour + 40*time.Minute) // 22:59:30
	expect("after 22:59", 4, 1, "status 500")
	w.now = w.now.Add(time.Minute)
	expect("after 23 hours", 1, 0, "status 500")
	if got := since(); got != 23*time.Hour+30*time.Second {
		t.Errorf("counts for %v, want 23h0m30s", got)
	}
	w.now = w.now.Add(time.Hour)
	expect("after a day", 0, 0, "")

	a.settle("e", deliver.StateDelivered, 0)
	a.save()
	ok(t, report.Forget(t.Context(), w.state, "acme"))
	if h := report.Health(w.read(), "e", w.now); h.Delivered != 0 {
		t.Errorf("%d deliveries of an erased owner", h.Delivered)
	}
	a.Drop(func(owner string) bool { return owner == "acme" })
	expect("after the owner was erased", 0, 0, "")
}

func TestSources(t *testing.T) {
	w := newWorld(t)
	n := w.node("a")
	down := errors.New("no route")
	var polls, errs int64
	for i, row := range []struct {
		polls, errs int64
		limited     time.Duration // from now
		want        string        // state, and for how long
	}{
		{0, 0, 0, "up"},
		{5, 0, 0, "up"},
		{5, 5, 0, "down 1m0s no route"},
		{5, 5, 0, "down 2m0s no route"},
		{0, 0, 0, "down 3m0s no route"}, // its accounts rest
		{5, 4, 0, "up"},
		{0, 0, 0, "up"},
		{2, 2, time.Hour, "limited 1m0s too many calls"},
		{0, 0, 59 * time.Minute, "limited 2m0s too many calls"},
		{0, 0, -time.Second, "up"}, // the limit is over
		{1, 1, 0, "down 1m0s no route"},
	} {
		w.now = w.now.Add(time.Minute)
		polls, errs = polls+row.polls, errs+row.errs
		p := report.Polled{Name: "x", Polls: polls, Errors: errs, LastError: down}
		if row.limited != 0 {
			p.Until, p.Limit = w.now.Add(row.limited), "too many calls"
		}
		n.Watch(w.now, []report.Polled{p})
		n.save()
		s := w.read()[0].Sources[0]
		got := string(s.State)
		if s.State != report.Up {
			got += fmt.Sprintf(" %v %s", w.now.Sub(s.Since), s.Error)
		}
		w.expect(fmt.Sprint("minute ", i), got, row.want)
		if problems := report.OfReports(w.read(), w.now); (len(problems) == 1) != (s.State != report.Up) || s.State != report.Up && problems[0].Severe != (s.State == report.Down) {
			t.Errorf("minute %d: problems %+v of a source that is %s", i, problems, s.State)
		}
	}
	n = w.node("a") // after a restart
	w.now = w.now.Add(time.Minute)
	n.Watch(w.now, []report.Polled{{Name: "x", Polls: 1, Errors: 1, LastError: down}})
	if s := n.report().Sources[0]; s.State != report.Down || w.now.Sub(s.Since) != 2*time.Minute {
		t.Errorf("%+v after a restart at %v, want it down for 2 minutes", s, w.now)
	}
}

// A node that was not shut down is missing after five minutes, if its name comes back.
func TestMissingNodes(t *testing.T) {
	w := newWorld(t)
	left, gone, unnamed := w.node("left"), w.node("gone"), &node{Recorder: report.New(w.state, "host-1", false, w.now), w: w}
	ok(t, unnamed.Restore(t.Context(), w.now))
	gone.save()
	unnamed.save()
	r := left.report()
	r.Left = true
	ok(t, left.Save(t.Context(), r))
	missing := func() (names []string) {
		for _, p := range report.OfReports(w.read(), w.now) {
			if p.Kind != report.NodeMissing || !p.Severe || !p.Since.Equal(start) {
				t.Errorf("%+v", p)
			}
			names = append(names, p.Name)
		}
		return names
	}
	w.now = w.now.Add(5*time.Minute - time.Second)
	if got := missing(); got != nil {
		t.Errorf("missing %q before five minutes", got)
	}
	w.now = w.now.Add(time.Second)
	if got := missing(); !slices.Equal(got, []string{"gone"}) {
		t.Errorf("missing %q, want gone", got)
	}
	w.now = w.now.Add(report.Kept)
	if got := missing(); got != nil {
		t.Errorf("missing %q after eight days", got)
	}
}

// What somebody else has saved under the name of a node does not stop it.
func TestSaveAfterAnother(t *testing.T) {
	w := newWorld(t)
	a, again := w.node("a"), w.node("a")
	a.counters.Events = 1
	a.save()
	again.counters.Events = 2
	again.save()
	a.save()
	w.expect("the last that was saved", w.steps(report.LastHour), "1T23:59 1/0+0 0")
}
