package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// figure is one line of JSON, as the benchmark programs print them.
type figure struct {
	Bench  string  `json:"bench"`
	Case   string  `json:"case"`
	Impl   string  `json:"impl"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
}

// figures are what a run found, in the order in which they are printed.
func (r *run) figures() []figure {
	t := r.tally
	var list []figure
	add := func(metric string, value float64, unit string) {
		list = append(list, figure{"crashtest", r.kind, "streamwatch", metric, value, unit})
	}
	for _, n := range []struct {
		metric string
		value  int
	}{
		{"violations", len(t.found)}, {"rounds", t.rounds}, {"starts", t.starts}, {"kills", t.kills},
		{"posts shown", t.posts}, {"detections", t.events + t.removed}, {"removed by retention", t.removed},
		{"deliveries", t.deliveries}, {"delivered", t.delivered}, {"given up", t.failed}, {"attempts recorded", t.attempts},
		{"requests received", t.requests}, {"received again", t.again},
		{"ledger entries", t.entries}, {"charges", t.charges}, {"backups", t.backups},
		{"replays", t.replays}, {"replayed", t.replayed},
	} {
		add(n.metric, float64(n.value), "count")
	}
	for _, how := range slices.Sorted(maps.Keys(t.disturbed)) {
		add(how, float64(t.disturbed[how]), "count")
	}
	if n := len(t.firstPolls); n > 0 {
		slices.Sort(t.firstPolls)
		add("restart to first poll, median", milliseconds(t.firstPolls[n/2]), "ms")
		add("restart to first poll, max", milliseconds(t.firstPolls[n-1]), "ms")
	}
	add("took", t.took.Seconds(), "s")
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// write prints what a run found.
func (r *run) write(w io.Writer) error {
	if r.json {
		list := r.figures()
		for _, p := range r.chooser.of {
			list = append(list, figure{"crashtest", r.kind, "streamwatch", "kills at " + p.name, float64(r.chooser.hits[p.name]), "count"})
		}
		return writeLines(w, list)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "point\thits\n")
	named := 0
	for _, p := range r.chooser.of {
		fmt.Fprintf(table, "%s\t%d\n", p.name, r.chooser.hits[p.name])
		named += r.chooser.hits[p.name]
	}
	fmt.Fprintf(table, "any moment\t%d\n\t\n", r.tally.kills-named)
	for _, f := range r.figures()[1:] {
		if f.Unit == "count" {
			fmt.Fprintf(table, "%s\t%.0f\n", f.Metric, f.Value)
			continue
		}
		fmt.Fprintf(table, "%s\t%.1f %s\n", f.Metric, f.Value, f.Unit)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return writeFound(w, r.tally.found)
}

// writeLines prints a figure a line.
func writeLines(w io.Writer, list []figure) error {
	enc := json.NewEncoder(w)
	for _, f := range list {
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// shownViolations bounds how many of one invariant are printed.
const shownViolations = 10

// writeFound prints the violations, a few of each invariant.
func writeFound(w io.Writer, found []violation) error {
	_, err := fmt.Fprintf(w, "%d violations\n", len(found))
	of := make(map[string]int)
	for _, v := range found {
		if of[v.Invariant]++; of[v.Invariant] <= shownViolations && err == nil {
			_, err = fmt.Fprintln(w, v)
		}
	}
	for _, invariant := range slices.Sorted(maps.Keys(of)) {
		if more := of[invariant] - shownViolations; more > 0 && err == nil {
			_, err = fmt.Fprintf(w, "%s: %d more\n", invariant, more)
		}
	}
	return err
}
