package engineui

import (
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
)

// sourceData is a source as shown on the page.
type sourceData struct {
	source
	Calls  float64 // per minute, over Length
	Length time.Duration
	Plan   planned
	Price  float64 // per day, from the last plan; 0 without a plan
	Budget float64 // calls per second assumed by the plan; 0 if intervals determine the pace
}

// sources loads the page of the platforms and their limits.
func (c *Console) sources(*view) (any, error) {
	st := c.engine.Stats()
	_, long, _ := c.windows.last()
	plan := c.forecast.get()
	var list []sourceData
	for _, s := range sourceList(&st) {
		d := sourceData{source: s, Length: long.Length(), Plan: plan}
		if minutes := d.Length.Minutes(); minutes > 0 {
			d.Calls = float64(long.calls[s.Name]) / minutes
		}
		plans, ok := plan.Plan.Sources[s.Name]
		if !ok {
			plans = plan.Plan.Plans
		}
		d.Price, d.Budget = plans.CostPerDay, plans.Now.Budget
		list = append(list, d)
	}
	return list, nil
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

// Probed reports whether the source is probed for accounts that have changed.
func (d *sourceData) Probed() bool { return d.Stats.Probes.Calls > 0 }

// Billed reports whether the platform charges for calls.
func (d *sourceData) Billed() bool {
	return d.Price > 0 || d.Stats.Cost.Limit > 0 || d.Stats.Cost.Total > 0
}

// source is a source of the engine and its statistics.
type source struct {
	Name  string
	Stats detect.Stats
}

// sourceList lists the sources, sorted by name.
func sourceList(st *streamwatch.Stats) (list []source) {
	all := sourceStats(st)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, source{name, all[name]})
	}
	return list
}
