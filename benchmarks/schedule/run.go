package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// contestantEnv names the contestant that this process is.
const contestantEnv = "SCHEDULE_CONTESTANT"

// compare runs each contestant once a round, and gives the medians.
func compare(o options, args []string) ([]report.Row, error) {
	rows := make([][]report.Row, len(o.impls))
	figures := make([][][]float64, len(o.impls)) // by contestant, row and round
	for round := range o.Rounds {
		for k := range o.impls {
			i := (k + round) % len(o.impls)
			got, err := process(o.impls[i], args)
			if err != nil {
				return nil, fmt.Errorf("schedule: %s: %w", o.impls[i], err)
			}
			if rows[i] == nil {
				rows[i], figures[i] = got, make([][]float64, len(got))
			}
			for j := range got {
				figures[i][j] = append(figures[i][j], got[j].Value)
			}
		}
	}
	var all []report.Row
	for i := range rows {
		for j := range rows[i] {
			f := figures[i][j]
			slices.Sort(f)
			rows[i][j].Value = f[len(f)/2]
		}
		all = append(all, rows[i]...)
	}
	return all, nil
}

// process runs a contestant in this program's place, with nothing that others
// left in memory.
func process(name string, args []string) ([]report.Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), contestantEnv+"="+name)
	cmd.Stderr = os.Stderr
	alive, err := cmd.StdinPipe() // closes with this process, however it ends
	if err != nil {
		return nil, err
	}
	defer alive.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var rows []report.Row
	dec := json.NewDecoder(out)
	for err == nil {
		var r report.Row
		if err = dec.Decode(&r); err == nil {
			rows = append(rows, r)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return rows, errors.Join(err, cmd.Wait())
}

// child is the process of one contestant. It ends at once when its parent does.
func child(name string, args []string) error {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	o, err := parse(args)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(contestants, func(c contestant) bool { return c.name == name })
	if i < 0 {
		return fmt.Errorf("schedule: contestant %q is not known", name)
	}
	rows, err := measure(&o, contestants[i])
	if err != nil {
		return err
	}
	return report.Write(os.Stdout, true, rows)
}

// grace bounds the wait for polls that were due in the window and are late.
const grace = 3 * time.Second

// measure runs a contestant, and watches it for o.For.
func measure(o *options, c contestant) ([]report.Row, error) {
	n := min(o.accounts, c.most)
	room := int(float64(n)*1.5*(o.For+2*grace).Seconds()/o.period.Seconds()) + 1000
	rec := newRecord(room, o.garbage)
	before := int64(report.InUse())
	begun := time.Now()
	if err := c.start(n, o.period, rec.poll); err != nil {
		return nil, err
	}
	setup := time.Since(begun)
	time.Sleep(o.warm)

	rec.begin()
	start := time.Now()
	cpu := report.CPU()
	time.Sleep(o.For)
	cpu = report.CPU() - cpu
	took := time.Since(start)

	res := rec.result(n, o.period, o.For, time.Now())
	for wait := 10 * time.Millisecond; res.lost > 0 && time.Since(start) < took+grace; wait *= 2 {
		time.Sleep(wait)
		res = rec.result(n, o.period, o.For, time.Now())
	}
	rec.waste.Store(0)
	kept := max(int64(report.InUse())-before, 0)

	var rows []report.Row
	add := func(metric string, v float64, unit string) {
		rows = append(rows, report.Row{Bench: "schedule", Case: o.kase(n), Impl: c.impl, Metric: metric, Value: v, Unit: unit})
	}
	add("lag p99", res.quantile(0.99), "ms")
	add("lag p50", res.quantile(0.5), "ms")
	add("lag p99.9", res.quantile(0.999), "ms")
	add("lag max", res.quantile(1), "ms")
	add("memory", float64(kept)/float64(n), "B/account")
	add("setup", setup.Seconds(), "s")
	add("CPU", 100*cpu.Seconds()/took.Seconds(), "% of a core")
	add("polls", float64(res.made)/o.For.Seconds(), "/s")
	add("expected", float64(res.expected), "polls")
	add("made", float64(res.made), "polls")
	add("lost", float64(res.lost), "polls")
	add("extra", float64(res.extra), "polls")
	return rows, nil
}
