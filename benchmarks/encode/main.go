// Encode compares how long it takes to encode the body of a webhook, the
// tweet.detected object: deliver.AppendBody beside encoding/json and
// github.com/goccy/go-json, each with a struct of the same members.
//
//	go run ./encode
//
// Before anything is timed, the outputs are decoded and compared: a contestant
// that says something else ends the program.
package main

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	goccy "github.com/goccy/go-json"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
)

func main() {
	opts, err := report.ParseFlags("encode", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options) error {
	var rows []report.Row
	for _, s := range samples() {
		impls := contestants(s)
		if err := compare(impls); err != nil {
			return fmt.Errorf("encode: case %s: %w", s.name, err)
		}
		runs := make([]func() float64, len(impls))
		for i, c := range impls {
			runs[i] = func() float64 {
				return report.PerOp(opts.For, func() { must(c.encode()) })
			}
		}
		for i, ns := range report.Interleave(opts.Rounds, runs...) {
			c := impls[i]
			add := func(metric string, v float64, unit string) {
				rows = append(rows, report.Row{Bench: "encode", Case: s.name, Impl: c.name, Metric: metric, Value: v, Unit: unit})
			}
			add("time", ns, "ns/op")
			add("allocations", testing.AllocsPerRun(100, func() { must(c.encode()) }), "1/op")
			add("size", float64(len(must(c.encode()))), "B")
		}
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

// contestant encodes one sample. The bytes are valid until the next call.
type contestant struct {
	name   string
	encode func() ([]byte, error)
}

// contestants has each peer twice: with the Marshal that most programs call,
// and at its best, with an Encoder on a reused buffer. AppendBody reuses its
// buffer too, as the detector does. Peers pay for filling the struct.
func contestants(s sample) []contestant {
	ours := make([]byte, 0, 16<<10)
	var std, goc bytes.Buffer
	stdEncoder, gocEncoder := stdjson.NewEncoder(&std), goccy.NewEncoder(&goc)
	stdEncoder.SetEscapeHTML(false)
	gocEncoder.SetEscapeHTML(false)
	return []contestant{
		{report.Ours, func() ([]byte, error) {
			ours = deliver.AppendBody(ours[:0], &s.event, &s.tweet)
			return ours, nil
		}},
		{"encoding/json", func() ([]byte, error) { return stdjson.Marshal(bodyOf(&s)) }},
		{"encoding/json, reused buffer", func() ([]byte, error) {
			std.Reset()
			err := stdEncoder.Encode(bodyOf(&s))
			return bytes.TrimSuffix(std.Bytes(), newline), err
		}},
		{"goccy/go-json", func() ([]byte, error) { return goccy.Marshal(bodyOf(&s)) }},
		{"goccy/go-json, reused buffer", func() ([]byte, error) {
			goc.Reset()
			err := gocEncoder.Encode(bodyOf(&s))
			return bytes.TrimSuffix(goc.Bytes(), newline), err
		}},
	}
}

// newline ends what an Encoder writes.
var newline = []byte("\n")

// compare wants every contestant to say the same.
func compare(impls []contestant) error {
	var want any
	for i, c := range impls {
		b, err := c.encode()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		var got any
		if err := stdjson.Unmarshal(b, &got); err != nil {
			return fmt.Errorf("%s: %w in %s", c.name, err, b)
		}
		if i == 0 {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("%s and %s differ:\n%v\n%v", impls[0].name, c.name, want, got)
		}
	}
	return nil
}

// must is for calls that compare has seen succeed.
func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
