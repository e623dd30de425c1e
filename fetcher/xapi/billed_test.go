package xapi

import (
	"fmt"
	"testing"
	"time"
)

func TestLedger(t *testing.T) {
	day := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	l := newLedger(3)
	for i, row := range []struct {
		at   time.Time
		kind resource
		ids  []string
		want int64
	}{
		{day, billedPost, []string{"1", "2", "1"}, 2},
		{day.Add(23 * time.Hour), billedPost, []string{"1"}, 0},
		{day.Add(23 * time.Hour), billedUser, []string{"1"}, 1},
		{day.Add(24 * time.Hour), billedPost, []string{"1"}, 1},
		{day.Add(24 * time.Hour), billedPost, []string{"3", "4", "5"}, 3},
		{day.Add(25 * time.Hour), billedPost, []string{"3", "5"}, 1}, // beyond the bound everything counts
		{day.Add(25 * time.Hour), billedPost, []string{"odd", "odd"}, 2},
	} {
		got := int64(0)
		for _, id := range row.ids {
			got += l.charge(row.at, row.kind, id)
		}
		if got != row.want {
			t.Errorf("%d: %v are charged for as %d, want %d", i, row.ids, got, row.want)
		}
	}
}

func TestLedgerIsBounded(t *testing.T) {
	l := newLedger(100)
	at := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	for d := range 5 {
		for i := range 1000 {
			l.charge(at.AddDate(0, 0, d), billedPost, fmt.Sprint(i))
		}
	}
	if n := len(l.seen); n > 100 {
		t.Errorf("%d ids are kept, want at most 100", n)
	}
}

func TestPrices(t *testing.T) {
	p := Prices()
	if p.Post != 0.005 || p.User != 0.010 || p.Event != 0.005 {
		t.Errorf("the prices are %+v", p)
	}
}

func TestBoundsAreBounded(t *testing.T) {
	b := newBounds(10, time.Hour)
	for i := range 100 {
		b.ended(fmt.Sprint(i), &reading{since: 1, newest: "12"})
	}
	if len(b.by) > 10 {
		t.Errorf("%d accounts are remembered, want at most 10", len(b.by))
	}
}
