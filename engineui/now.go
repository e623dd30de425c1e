package engineui

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// nowData is the data of the first page.
type nowData struct {
	Engine *nowEngine // nil for viewers of a single owner
	Tail   []item     // newest first; for one owner from the store, for all owners from this node's memory
	Fleet  bool       // other nodes find events, too
	All    bool       // the tail shows all owners
}

type nowEngine struct {
	Ready   error
	Windows []windowData
	Hour    lines
	Plan    planData
}

// windowData is a time window as a table.
type windowData struct {
	window
	Name   string
	Axis   axis
	Stages []stage
	Causes stack
}

// stage is a row of a windowData.
type stage struct {
	Name, What    string
	Count         int64
	P50, P95, P99 time.Duration
	Spread        spread
	Sum           bool // the row is the sum of other rows
}

// planData compares the plan with the measurements.
type planData struct {
	planned
	Age      time.Duration
	Measured latency.Snapshot // from publication to detection, in the last hour
	Calls    float64          // per minute
	Length   time.Duration
}

// now loads the first page.
func (c *Console) now(v *view) (any, error) {
	d := nowData{Fleet: c.engine.Nodes() > 1, All: v.scope().all}
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
	if !v.Viewer.All {
		return d, nil
	}
	short, long, hour := c.windows.last()
	d.Engine = &nowEngine{Ready: c.engine.Ready(), Windows: []windowData{newWindowData("5 minutes", short), newWindowData("hour", long)}, Hour: hourLines(hour)}
	p := planData{planned: c.forecast.get(), Measured: long.parts.Detection, Length: long.Length()}
	if minutes := long.Length().Minutes(); minutes > 0 {
		p.Calls = float64(long.Counts.Calls) / minutes
	}
	if !p.At.IsZero() {
		p.Age = c.cfg.Now().Sub(p.At)
	}
	d.Engine.Plan = p
	return d, nil
}

func newWindowData(name string, w window) windowData {
	d := windowData{window: w, Name: name, Axis: newAxis(max(w.total.Quantile(0.99), w.parts.Total.Quantile(0.99))), Causes: newStack(w.causes())}
	for _, s := range []struct {
		name, what string
		of         latency.Snapshot
		sum        bool
	}{
		{"schedule", "from publication to the first poll due after it", w.parts.Schedule, false},
		{"visibility", "the platform showed it late", w.parts.Visibility, false},
		{"failure", "polls or commits had failed", w.parts.Failure, false},
		{"queue", "waiting for the budget, a limit or a slot", w.parts.Queue, false},
		{"fetch", "the call that brought it", w.parts.Fetch, false},
		{"process", "reading on, judging", w.parts.Process, false},
		{"commit", "until the store had it", w.parts.Commit, false},
		{"detected", "from publication to detection", w.parts.Detection, true},
		{"handover", "from the commit to the first attempt", w.handover, false},
		{"send", "the attempt that succeeded", w.send, false},
		{"delivered", "from publication to the acknowledgement", w.total, true},
	} {
		d.Stages = append(d.Stages, stage{Name: s.name, What: s.what, Count: s.of.Count(), P50: s.of.Quantile(0.5), P95: s.of.Quantile(0.95),
			P99: s.of.Quantile(0.99), Spread: newSpread(d.Axis, s.of), Sum: s.sum})
	}
	return d
}

// hourLines draws the p50 and p95 of detection for each step of the hour.
func hourLines(hour []window) lines {
	var p50, p95 []float64
	for _, w := range hour {
		if w.parts.Detection.Count() == 0 {
			p50, p95 = append(p50, math.NaN()), append(p95, math.NaN())
			continue
		}
		p50 = append(p50, float64(w.parts.Detection.Quantile(0.5)))
		p95 = append(p95, float64(w.parts.Detection.Quantile(0.95)))
	}
	l := newLines([]string{"p50", "p95"}, [][]float64{p50, p95}, func(v float64) string { return dur(time.Duration(v)) })
	if len(hour) > 0 {
		l.Start = clock(hour[0].From)
	}
	return l
}
