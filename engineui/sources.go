package engineui

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/figure"
)

// sourcesData is what the page of the sources shows, those in trouble first.
type sourcesData struct {
	Sources []*sourceData
	Plan    planned
	Bad     int // sources that are not well
}

// sourceData is a source with its statistics on this node.
type sourceData struct {
	Name    string
	Stats   detect.Stats
	Problem *streamwatch.Problem // nil if all is well
	Calls   float64              // a minute, since the console was made
	Plan    *detect.Plans        // nil without a plan
}

// sources loads the page of the platforms and their limits.
func (c *Console) sources(v *view) (any, error) {
	d := &sourcesData{Plan: c.forecast.get()}
	problems, _, err := v.problems() // an engine that does not run has none
	if err != nil && v.Context().Err() != nil {
		return nil, err
	}
	all, before := statsOf(c.engine), c.before
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := &sourceData{Name: name, Stats: all[name], Calls: float64(all[name].Calls-before[name].Calls) / max(c.cfg.Now().Sub(c.began), time.Second).Minutes()}
		for i := range problems {
			if p := &problems[i]; p.Path == "sources" && p.ID == name {
				s.Problem = &p.Problem
				d.Bad++
			}
		}
		if d.Plan.Err == nil && !d.Plan.At.IsZero() {
			plans, ok := d.Plan.Plan.Sources[name]
			if !ok {
				plans = d.Plan.Plan.Plans
			}
			s.Plan = &plans
		}
		d.Sources = append(d.Sources, s)
	}
	slices.SortStableFunc(d.Sources, func(a, b *sourceData) int { return cmp.Compare(a.trouble(), b.trouble()) })
	return d, nil
}

// statsOf returns the statistics of each source by name; that of an engine without named ones is "".
func statsOf(e *streamwatch.Engine) map[string]detect.Stats {
	if st := e.Stats(); st.Sources == nil {
		return map[string]detect.Stats{"": st.Detect}
	} else {
		return st.Sources
	}
}

func (d *sourceData) trouble() int {
	switch {
	case d.Problem == nil:
		return 2
	case d.Problem.Severe:
		return 0
	}
	return 1
}

// Polls and Failed count those of accounts and queries.
func (d *sourceData) Polls() int64  { return d.Stats.Polls + d.Stats.Queries.Polls }
func (d *sourceData) Failed() int64 { return d.Stats.PollErrors + d.Stats.Queries.Errors }

// Dead reports whether all polls fail.
func (d *sourceData) Dead() bool { return d.Problem != nil && d.Problem.Severe }

// Clock returns how far the platform's clock is ahead of ours, with the error of that.
func (d *sourceData) Clock() string {
	if d.Stats.ClockSkew == 0 {
		return "not measured"
	}
	within := max(500*time.Millisecond, d.Stats.Fetch.Mean())
	if d.Stats.ClockSkew.Abs() <= within {
		return "0 ± " + figure.Duration(within)
	}
	sign := "+ "
	if d.Stats.ClockSkew > 0 { // ours is ahead
		sign = "− "
	}
	return sign + figure.Duration(d.Stats.ClockSkew.Abs()) + " ± " + figure.Duration(within)
}

// Billed reports whether the platform charges for calls.
func (d *sourceData) Billed() bool {
	return d.Stats.Cost.Limit > 0 || d.Stats.Cost.Total > 0 || d.Plan != nil && d.Plan.CostPerDay > 0
}

// Streams returns the source's streams that were connected or tried to connect.
func (d *sourceData) Streams() (list []streamData) {
	for _, s := range []streamData{{"accounts", d.Stats.Stream}, {"queries", d.Stats.SearchStream}} {
		if s.Connects+s.Disconnects > 0 || s.Connected {
			list = append(list, s)
		}
	}
	return list
}

// streamData is a stream.
type streamData struct {
	Of string // "accounts" or "queries": the stream has the posts of these
	detect.StreamStats
}

// State describes how far polls rely on the stream.
func (s streamData) State() string {
	switch {
	case !s.Connected:
		return "not connected"
	case !s.Trusted:
		return "connected, not trusted yet"
	}
	return "trusted"
}
