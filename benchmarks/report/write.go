package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Ours is the Impl of streamwatch's own code.
const Ours = "streamwatch"

// Row is one figure.
type Row struct {
	Bench  string  `json:"bench"`  // the program
	Case   string  `json:"case"`   // what was measured
	Impl   string  `json:"impl"`   // Ours or a peer's name
	Metric string  `json:"metric"` // such as "time"
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"` // such as "ns/op"
}

// Write prints the rows, as one JSON object per line or as a table with a line
// per case and implementation, in the order they first come in.
func Write(w io.Writer, asJSON bool, rows []Row) error {
	if !asJSON {
		return writeTable(w, rows)
	}
	enc := json.NewEncoder(w)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

type (
	lineKey   struct{ bench, kase, impl string }
	columnKey struct{ metric, unit string }
)

func (r Row) line() lineKey     { return lineKey{r.Bench, r.Case, r.Impl} }
func (r Row) column() columnKey { return columnKey{r.Metric, r.Unit} }

// writeTable gives each metric a column, and compares the first one with ours.
func writeTable(w io.Writer, rows []Row) error {
	var lines []lineKey
	var columns []columnKey
	values := map[lineKey]map[columnKey]float64{}
	for _, r := range rows {
		if values[r.line()] == nil {
			lines = append(lines, r.line())
			values[r.line()] = map[columnKey]float64{}
		}
		if !slices.Contains(columns, r.column()) {
			columns = append(columns, r.column())
		}
		values[r.line()][r.column()] = r.Value
	}
	if len(columns) == 0 {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "bench\tcase\timpl")
	for _, c := range columns {
		fmt.Fprintf(tw, "\t%s %s", c.metric, c.unit)
	}
	fmt.Fprintf(tw, "\t%s, ours = 1\n", columns[0].metric)
	for _, l := range lines {
		fmt.Fprintf(tw, "%s\t%s\t%s", l.bench, l.kase, l.impl)
		for _, c := range columns {
			cell := "-"
			if v, ok := values[l][c]; ok {
				cell = number(v)
			}
			fmt.Fprintf(tw, "\t%s", cell)
		}
		ratio := "-"
		ours := values[lineKey{l.bench, l.kase, Ours}][columns[0]]
		if v, ok := values[l][columns[0]]; ok && ours > 0 {
			ratio = strconv.FormatFloat(v/ours, 'f', 1, 64)
		}
		fmt.Fprintf(tw, "\t%s\n", ratio)
	}
	return tw.Flush()
}

// number keeps about three digits: single figures are no more exact than that.
func number(v float64) string {
	if v >= 100 || v == float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
