package main

import (
	"testing"
	"time"
)

// A small store is filled, and every page is asked for and within its bound of bytes.
func TestRun(t *testing.T) {
	rows, _, err := run(t.Context(), setup{accounts: 200, events: 2000, warm: 100 * time.Millisecond, dir: t.TempDir()}, time.Nanosecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, r := range rows {
		if r.Metric == "size" {
			pages++
			if r.Value < 500 || r.Value > mostSize {
				t.Errorf("%s has %g bytes", r.Case, r.Value)
			}
		}
	}
	if pages < 30 {
		t.Errorf("%d pages, want 30 or more", pages)
	}
}
