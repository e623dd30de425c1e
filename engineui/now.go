package engineui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/record"
)

// nowData is the data of the first page.
type nowData struct {
	Ready    error // of the engine, for operators
	Severe   int
	Problems []problem
	At       time.Time // as of when they are
	Unknown  error     // why they are not known
	Empty    bool      // the viewer has no records
	Engine   *figures  // nil for viewers of a single owner
	Tail     []item    // newest first; for one owner from the store, for all owners from this node's memory
	Fleet    bool      // other nodes find events, too
	All      bool      // the tail shows all owners
}

// Heading says in a sentence how the engine is.
func (d *nowData) Heading() string {
	switch n := len(d.Problems); {
	case d.Empty:
		return "Nothing is watched yet"
	case n > 1:
		return figure.Count(n) + " things need a person"
	case n == 1:
		return "1 thing needs a person"
	}
	return "Now"
}

// Soon is the number of warnings.
func (d *nowData) Soon() int { return len(d.Problems) - d.Severe }

// figures are those of the whole engine.
type figures struct {
	Sum     streamwatch.HistoryStep // of the range
	Causes  figure.Stack
	Range   string
	Ranges  []string
	History streamwatch.History
	Plots   []*figure.Plot
}

// problem is a Problem with what its line says.
type problem struct {
	streamwatch.Problem
	Path, What, Link string
}

// problemPages has the list that has a problem of a kind, and what its line says.
var problemPages = map[streamwatch.ProblemKind]struct{ path, what string }{
	streamwatch.StoreFailing: {"", "The store takes no writes"}, streamwatch.NodeMissing: {"fleet", "is missing"},
	streamwatch.SourceDown: {"sources", "is dead"}, streamwatch.SourceLimited: {"sources", "is closed by its limit"},
	streamwatch.EndpointDisabled: {"endpoints", "is disabled"}, streamwatch.EndpointFailing: {"endpoints", "fails"},
	streamwatch.MonitorPaused: {"monitors", "is paused"}, streamwatch.RulePaused: {"rules", "is paused"}, streamwatch.CreditsLow: {"credits", "runs out of credits"},
}

// problemsTime limits the wait for the first search for problems, which may take long.
const problemsTime = 2 * time.Second

// problems returns what the viewer may know of the engine's problems, the worst first. It asks the
// engine once for a page.
func (v *view) problems() (list []problem, at time.Time, err error) {
	if v.known == nil {
		v.known = &known{}
		v.known.list, v.known.at, v.known.err = v.askProblems()
	}
	return v.known.list, v.known.at, v.known.err
}

// known are the results of problems.
type known struct {
	list []problem
	at   time.Time
	err  error
}

func (v *view) askProblems() (list []problem, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(v.Context(), problemsTime)
	defer cancel()
	all, err := v.c.engine.Problems(ctx)
	of := v.scope()
	for _, p := range all.List {
		page := problemPages[p.Kind]
		line := problem{Problem: p, Path: page.path, What: page.what}
		ofEngine := false
		switch p.Kind {
		case streamwatch.EndpointDisabled, streamwatch.EndpointFailing:
			line.Name, _ = place(search.URL(p.Name))
			line.Link = v.Link("endpoint", "endpoint", p.ID)
		case streamwatch.MonitorPaused:
			line.Link = v.Link("monitor", "monitor", p.ID)
		case streamwatch.RulePaused:
			line.Link = v.Link("rule", "rule", p.ID)
		case streamwatch.CreditsLow:
			line.Link = v.OwnerLink(p.Owner, "owner")
		case streamwatch.SourceDown, streamwatch.SourceLimited:
			ofEngine, line.Name, line.Link = true, cmp.Or(p.Name, "the default source"), v.Link("sources")+"#source-"+p.ID
		default:
			ofEngine, line.Link = true, v.Link(page.path)
		}
		if ofEngine && v.Viewer.All || !ofEngine && of.has(p.Owner) {
			list = append(list, line)
		}
	}
	return list, all.At, err
}

// Counts returns how many problems the lists have, by their pages; of all those is "".
func (v *view) Counts() map[string]int {
	list, _, _ := v.problems() // the first page says why they are not known
	counts := map[string]int{}
	for _, p := range list {
		if counts[""]++; p.Path != "" {
			counts[p.Path]++
		}
	}
	return counts
}

// now loads the first page.
func (c *Console) now(v *view) (any, error) {
	d := &nowData{Fleet: c.engine.Nodes() > 1, All: v.scope().all}
	d.Problems, d.At, d.Unknown = v.problems()
	for _, p := range d.Problems {
		if p.Severe {
			d.Severe++
		}
	}
	if d.All {
		d.Tail = c.tail.latest(v.scope())
	} else {
		events, err := v.newest(tailShown)
		if err != nil {
			return nil, err
		}
		for i := range events {
			d.Tail = append(d.Tail, newItem(&events[i]))
		}
	}
	d.Empty = len(d.Tail) == 0
	of := v.scope()
	for _, kind := range []record.Kind{record.Monitor, record.Rule} {
		page, err := c.index.List(v.Context(), search.Query{Kind: kind, All: of.all, Owner: of.owner, Size: 1})
		if err != nil {
			return nil, err
		}
		d.Empty = d.Empty && len(page.Entries) == 0
	}
	if !v.Viewer.All {
		return d, nil
	}
	d.Ready = c.engine.Ready()
	var err error
	d.Engine, err = c.figures(v)
	return d, err
}

var ranges = []string{"1h", "24h", "7d"}

// figures reads the engine's history.
func (c *Console) figures(v *view) (*figures, error) {
	f := &figures{Range: cmp.Or(v.query.Get("range"), "24h"), Ranges: ranges}
	n := slices.Index(ranges, f.Range)
	if n < 0 {
		return nil, &failure{http.StatusBadRequest, "The parameter range is not allowed: want 1h, 24h or 7d."}
	}
	var err error
	if f.History, err = c.engine.History(v.Context(), streamwatch.Range(n)); err != nil {
		return nil, err
	}
	took := map[string]time.Duration{}
	var causes []latency.Cause
	for _, s := range f.History.Steps {
		f.Sum.Events += s.Events
		f.Sum.Calls += s.Calls
		f.Sum.Polls += s.Polls
		f.Sum.PollErrors += s.PollErrors
		f.Sum.Cost += s.Cost
		f.Sum.Attempts += s.Attempts
		f.Sum.Acknowledged += s.Acknowledged
		f.Sum.Failed += s.Failed
		f.Sum.Latency = f.Sum.Latency.Add(s.Latency)
		for _, cause := range s.Causes {
			if _, known := took[cause.Name]; !known {
				causes = append(causes, cause)
			}
			took[cause.Name] += cause.Mean * time.Duration(s.Latency.Count())
		}
	}
	for i := range causes {
		causes[i].Mean = took[causes[i].Name] / time.Duration(f.Sum.Latency.Count())
		causes[i].Name = cmp.Or(causeWords[causes[i].Name], causes[i].Name)
	}
	f.Causes = figure.NewStack(latency.Shares(causes))
	f.Plots = figure.Plots(f.History)
	return f, nil
}

// causeWords say what the causes of HistoryStep.Causes are.
var causeWords = map[string]string{"schedule": "until the poll was due", "wait": "shown late, or the poll waited", "fetch": "fetched", "process": "judged",
	"commit": "committed", "handover": "until the first attempt", "retries": "waited for a retry", "send": "sent"}

// running returns a failure if err means that the engine does not run, otherwise err itself.
func running(err error) error {
	if errors.Is(err, streamwatch.ErrNotRunning) {
		return &failure{http.StatusServiceUnavailable, "The engine does not run."}
	}
	return err
}
