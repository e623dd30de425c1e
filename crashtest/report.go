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

// report is what a run prints.
type report struct {
	store   string
	figures []figure
	found   []violation
}

// figure is one line of JSON, in the format of the benchmark programs.
type figure struct {
	Bench  string  `json:"bench"`
	Case   string  `json:"case"`
	Impl   string  `json:"impl"`
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
}

func (r *report) add(metric string, value float64, unit string) {
	r.figures = append(r.figures, figure{"crashtest", r.store, "streamwatch", metric, value, unit})
}

func (r *report) count(metric string, n int) { r.add(metric, float64(n), "count") }

func (r *report) milliseconds(metric string, d time.Duration) {
	r.add(metric, float64(d.Microseconds())/1000, "ms")
}

// value returns a figure by its name, or 0 if there is none.
func (r *report) value(metric string) int {
	for _, f := range r.figures {
		if f.Metric == metric {
			return int(f.Value)
		}
	}
	return 0
}

// write prints the figures, one per line, as a table or as JSON. Then it prints the violations.
func (r *report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		for _, f := range append([]figure{{"crashtest", r.store, "streamwatch", "violations", float64(len(r.found)), "count"}}, r.figures...) {
			if err := enc.Encode(f); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.figures {
		if f.Unit == "count" {
			fmt.Fprintf(table, "%s\t%.0f\n", f.Metric, f.Value)
			continue
		}
		fmt.Fprintf(table, "%s\t%.1f %s\n", f.Metric, f.Value, f.Unit)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return writeFound(w, r.found)
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
