// Package report is what the benchmark programs share: their flags, fair
// timing, and output as a table for people or as lines of JSON for programs.
//
// A program measures its contestants in turns, because a slow moment of the
// machine must hit all of them, and reports the medians:
//
//	opts, err := report.ParseFlags("encode", os.Args[1:])
//	ns := report.Interleave(opts.Rounds,
//		func() float64 { return report.PerOp(opts.For, ours) },
//		func() float64 { return report.PerOp(opts.For, theirs) },
//	)
//	rows := []report.Row{{Bench: "encode", Case: "short", Impl: report.Ours, Metric: "time", Value: ns[0], Unit: "ns/op"}}
//	err = report.Write(os.Stdout, opts.JSON, rows)
//
// Every program takes -for, -rounds and -json.
package report
