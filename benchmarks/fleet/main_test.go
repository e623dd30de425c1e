package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-virtual -nodes 100 -accounts 10000000 -for 1h -crashes 10 -deploy -json"))
	if err != nil || !slices.Equal(o.nodes, []int{100}) || o.accounts != 10_000_000 || o.For != time.Hour || o.crashes != 10 || !o.deploy || !o.JSON {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range []string{"-nodes 1", "-nodes two", "-accounts 1", "-crashes -1", "-interval 1ms", "-interval 20m -for 1h"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}

// The bounds that a fleet keeps, in a small one.
func TestBounds(t *testing.T) {
	o, err := parse(strings.Fields("-for 1ms"))
	if err != nil {
		t.Fatal(err)
	}
	out := inVirtualTime(t, o, o.nodes[0])
	for _, row := range []struct {
		what string
		ok   bool
		got  any
	}{
		{"crash to the owner", slices.Max(out.owners) <= 12*time.Second, slices.Max(out.owners)},
		{"crash", slices.Max(out.crashes) <= 12*time.Second, slices.Max(out.crashes)},
		{"planned stop", slices.Max(out.stops) <= 2*time.Second, slices.Max(out.stops)},
		{"parts moved", out.moved <= 171 && out.moved > 0, out.moved},
		{"beats", out.beats <= 6, out.beats},
		{"most loaded", out.most <= 171, out.most},
		{"polls", out.polls > out.wanted*98/100 && out.polls <= out.wanted, out.polls},
		{"twice", out.twice == 0, out.twice},
		{"grants", out.highest < 1.0001 && out.lowest > 0.95, []float64{out.lowest, out.highest}},
		{"terms lost", out.lost == 0, out.lost},
		{"crashes and stops", len(out.crashes) > 100 && len(out.stops) > 500, len(out.stops)},
	} {
		if !row.ok {
			t.Errorf("%s: %v", row.what, row.got)
		}
	}
}
