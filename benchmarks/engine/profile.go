package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// stack is a place in the program, the function that ran first, and the CPU
// time that was spent there.
type stack struct {
	functions []string
	took      time.Duration
}

// takeProfile samples the process for d, 100 times a second of CPU.
func takeProfile(d time.Duration, polls func() int64) (polled float64, stacks []stack, err error) {
	var buf bytes.Buffer
	n := polls()
	if err := pprof.StartCPUProfile(&buf); err != nil {
		return 0, nil, err
	}
	time.Sleep(d)
	polled = float64(polls() - n)
	pprof.StopCPUProfile()
	p, err := profile.Parse(&buf)
	if err != nil {
		return 0, nil, err
	}
	for _, s := range p.Sample {
		st := stack{took: time.Duration(s.Value[1])} // cpu, nanoseconds
		for _, loc := range s.Location {
			for _, line := range loc.Line { // inlined functions first
				st.functions = append(st.functions, line.Function.Name)
			}
		}
		stacks = append(stacks, st)
	}
	return polled, stacks, nil
}

// rule puts the functions whose names begin with a prefix in a stage.
type rule struct {
	stage    string
	prefixes []string
}

const (
	module = "github.com/streamwatch/streamwatch/"
	other  = "other"
)

// rules are tried in order on each function, from the one that ran to the one
// that began. Helpers (maps, copies, allocation, storage/memory, encoding) are
// in none, so that whoever called them has their time.
var rules = []rule{
	{"garbage collection", in("runtime.", "gcBgMarkWorker", "gcAssistAlloc", "gcStart", "gcMarkDone", "gcMarkTermination",
		"bgsweep", "bgscavenge", "sweepone", "deductSweepCredit", "wbBufFlush", "gcWriteBarrier", "bulkBarrierPreWrite")},
	{"goroutine start, stack growth, end", in("runtime.", "newproc", "newstack", "morestack", "copystack", "goexit0", "gdestroy")},
	{"runtime scheduling, wake-ups", in("runtime.", "schedule", "findRunnable", "mcall", "park_m", "gopark", "goready", "ready",
		"wakep", "startm", "stopm", "mstart", "mPark", "futex", "notesleep", "notewakeup", "selectgo", "selectnb", "chansend", "chanrecv",
		"sysmon", "osyield", "usleep", "gosched", "goschedImpl")},
	{"the Fetcher, the handler (harness)", []string{"main."}},
	{"seen", []string{module + "internal/seen."}},
	{"schedule", append(in(module+"detect/internal/", "schedule.", "budget.", "poll.(*Machine).reschedule", "shards.(*Shard).startDue"),
		module+"detect.(*Detector).clock", module+"internal/due.")},
	{"fetch call", in(module+"detect/internal/", "poll.(*Env)", "poll.(*Outcome)", "poll.(*Machine).Start", "poll.(*Machine).start", "accounts.(*Targets).Plan",
		"accounts.call", "shards.(*Shard).start")},
	{"judge, encode", in(module+"detect/internal/", "poll.(*Machine).Judge", "poll.(*judge)", "interest.")},
	{"mailbox, shard loop", []string{module + "detect/internal/shards."}},
	{"commit", in(module+"detect.", "(*committer)")},
	{"dispatch", append(in(module+"deliver/", "dispatch.", "dispatch/"), module+"deliver.Handlers")},
	{"poll's end, the rest of detect", []string{module + "detect.", module + "detect/"}},
}

func in(pkg string, names ...string) []string {
	for i := range names {
		names[i] = pkg + names[i]
	}
	return names
}

// stageOf is where a stack's time counts.
func stageOf(functions []string) string {
	for _, fn := range functions {
		for _, r := range rules {
			for _, p := range r.prefixes {
				if strings.HasPrefix(fn, p) {
					return r.stage
				}
			}
		}
	}
	return other
}

// profiled is one case's profile.
type profiled struct {
	kase   string
	polls  float64
	stacks []stack
}

// stages are all stages' shares of the time, 0 to 1, in the order of rules and
// other last; took is all of it.
func (p profiled) stages() (shares []float64, took time.Duration) {
	names := stageNames()
	sums := make([]time.Duration, len(names))
	for _, s := range p.stacks {
		sums[slices.Index(names, stageOf(s.functions))] += s.took
		took += s.took
	}
	for _, sum := range sums {
		shares = append(shares, float64(sum)/float64(max(took, 1)))
	}
	return shares, took
}

func stageNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.stage)
	}
	return append(names, other)
}

func (p profiled) rows() []report.Row {
	var rows []report.Row
	shares, _ := p.stages()
	for i, name := range stageNames() {
		rows = append(rows, row(p.kase, report.Ours, "CPU share: "+name, 100*shares[i], "%"))
	}
	return rows
}

// writeStages prints a column for each case: the share, and what it comes to
// in µs a poll.
func writeStages(w io.Writer, ps []profiled) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "CPU by stage: share, µs/poll")
	for _, p := range ps {
		fmt.Fprintf(tw, "\t%s", p.kase)
	}
	fmt.Fprintln(tw, "\t")
	for i, name := range stageNames() {
		fmt.Fprint(tw, name)
		for _, p := range ps {
			shares, took := p.stages()
			fmt.Fprintf(tw, "\t%.1f %% %.2f", 100*shares[i], shares[i]*float64(took.Microseconds())/max(p.polls, 1))
		}
		fmt.Fprintln(tw, "\t")
	}
	return tw.Flush()
}

// topFunctions is how many functions of each case are written.
const topFunctions = 40

// writeProfile writes the stages, and of each case the functions that ran most.
func writeProfile(name string, ps []profiled) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "machine: %s/%s, %d cores, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprintf(&b, "command: go run ./engine %s\n", strings.Join(os.Args[1:], " "))
	fmt.Fprintf(&b, "date:    %s\n\n", time.Now().UTC().Format(time.DateOnly))
	if err := writeStages(&b, ps); err != nil {
		return err
	}
	for _, p := range ps {
		_, took := p.stages()
		fmt.Fprintf(&b, "\n%s: %.1f s of CPU, %.0f polls\n", p.kase, took.Seconds(), p.polls)
		fmt.Fprintln(&b, "  itself  with callees  function")
		for _, f := range p.functions() {
			fmt.Fprintf(&b, "  %5.1f%%  %11.1f%%  %s\n", 100*float64(f.itself)/float64(took), 100*float64(f.with)/float64(took), f.name)
		}
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

type function struct {
	name         string
	itself, with time.Duration
}

// functions are those that took most, by themselves or with what they called.
func (p profiled) functions() []function {
	byName := map[string]*function{}
	for _, s := range p.stacks {
		for i, name := range s.functions {
			f := byName[name]
			if f == nil {
				f = &function{name: name}
				byName[name] = f
			}
			if i == 0 {
				f.itself += s.took
			}
			if !slices.Contains(s.functions[:i], name) { // once for recursion
				f.with += s.took
			}
		}
	}
	var all []function
	for _, f := range byName {
		all = append(all, *f)
	}
	top := func(by func(function) time.Duration) []function {
		slices.SortFunc(all, func(a, b function) int {
			return cmp.Or(cmp.Compare(by(b), by(a)), strings.Compare(a.name, b.name))
		})
		return slices.Clone(all[:min(topFunctions, len(all))])
	}
	most := top(func(f function) time.Duration { return f.itself })
	for _, f := range top(func(f function) time.Duration { return f.with }) {
		if !slices.Contains(most, f) {
			most = append(most, f)
		}
	}
	return most
}
