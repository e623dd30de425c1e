package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"
)

// handoverReport is the last line of a run with -json.
type handoverReport struct {
	Bench     string         `json:"bench"`
	Store     string         `json:"store"`
	Nodes     int            `json:"nodes"`
	Seed      uint64         `json:"seed"`
	Plant     string         `json:"plant,omitempty"`
	Seconds   float64        `json:"seconds"`
	Pauses    int            `json:"pauses"`
	Kills     int            `json:"kills"`
	Points    map[string]int `json:"kills_at,omitempty"` // by named point
	Failovers int            `json:"failovers"`
	Writes    int            `json:"writes"`
	Handovers int            `json:"handovers"`
	Refused   int            `json:"refused"`
	Again     int            `json:"again"` // refused because the worker had moved on, and then accepted
	Stale     int            `json:"stale_accepted"`
	Lost      int            `json:"lost"`
	Doubled   int            `json:"doubled"`
	Takeover  percentile     `json:"takeover_ms"`
}

// percentile has percentiles, in milliseconds.
type percentile struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// percentiles of a sorted list.
func percentiles(sorted []time.Duration) percentile {
	if len(sorted) == 0 {
		return percentile{}
	}
	at := func(q float64) float64 { return milliseconds(sorted[int(q*float64(len(sorted)-1))]) }
	return percentile{at(0.5), at(0.99), at(1)}
}

func (r *handoverRun) report() handoverReport {
	return handoverReport{
		Bench: "crashtest", Store: r.kind, Nodes: r.fleet, Seed: r.seed, Plant: r.plant, Seconds: math.Round(r.took.Seconds()*10) / 10,
		Pauses: r.pauses, Kills: r.killed, Points: r.hits, Failovers: r.failed, Writes: r.verdict.writes, Handovers: r.verdict.handovers,
		Refused: r.books.refused, Again: r.books.again, Stale: r.verdict.stale, Lost: r.verdict.lost, Doubled: r.verdict.doubled,
		Takeover: percentiles(r.verdict.takeovers),
	}
}

// write prints what a run found.
func (r *handoverRun) write(w io.Writer) error {
	o := r.report()
	if r.json {
		return errors.Join(writeFound(r.log, r.found), json.NewEncoder(w).Encode(o))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range []struct {
		what string
		n    int
	}{
		{"nodes", o.Nodes}, {"pauses", o.Pauses}, {"kills", o.Kills}, {"failovers", o.Failovers}, {"writes", o.Writes},
		{"hand-overs", o.Handovers}, {"refused", o.Refused}, {"refused once, then taken", o.Again},
		{"stale, and accepted", o.Stale}, {"lost", o.Lost}, {"doubled", o.Doubled},
	} {
		fmt.Fprintf(table, "%s\t%d\n", row.what, row.n)
	}
	fmt.Fprintf(table, "kill to first write of another\tp50 %.0f ms, p99 %.0f ms, max %.0f ms\ntook\t%.0f s\n", o.Takeover.P50, o.Takeover.P99, o.Takeover.Max, o.Seconds)
	return errors.Join(table.Flush(), writeFound(w, r.found))
}
