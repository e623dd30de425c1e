package main

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

func TestMain(m *testing.M) {
	if sink.Child() {
		return
	}
	// The Redis client of a task queue that was closed lets its connections go
	// a moment later.
	goleak.VerifyTestMain(m)
}

func TestEveryEventIsAnswered(t *testing.T) {
	rows, err := run(report.Options{For: 200 * time.Millisecond, Rounds: 1}, "") // where a server of another user can reach it
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Value <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if !slices.ContainsFunc(rows, func(r report.Row) bool { return r.Impl == report.Ours && r.Case == "5000/s" }) {
		t.Error("no row of SQLite at 5000/s")
	}
}
