package main

import (
	"net/http"
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
	goleak.VerifyTestMain(m)
}

func TestNeighboursAreCounted(t *testing.T) {
	rows, err := run(report.Options{For: 100 * time.Millisecond, Rounds: 1}, 20)
	http.DefaultClient.CloseIdleConnections()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range rows {
		got[r.Case+": "+r.Metric] = r.Value
	}
	for _, row := range []struct {
		key         string
		least, most float64
	}{
		{"all well: deliveries", 2, 2},
		{"1 hangs, 1 resets, 1 flooded: deliveries", 0, 0}, // it is not their turn yet
		{"all well: connections that hang", 0, 0},
		{"1 hangs, 1 resets, 1 flooded: connections that hang", 1, 4},
		{"10 % hang: connections that hang", 2, 8},
	} {
		if v := got[row.key]; v < row.least || v > row.most {
			t.Errorf("%s is %v, want %v to %v", row.key, v, row.least, row.most)
		}
	}
	if got["all well: p99"] <= 0 {
		t.Errorf("p99 %v", got["all well: p99"])
	}
}
