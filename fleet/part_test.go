package fleet_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/fleet"
)

func TestSet(t *testing.T) {
	s := fleet.SetOf(0, 1, 2, 63, 64, 1023)
	for _, row := range []struct {
		what string
		got  any
		want any
	}{
		{"String", s.String(), "0-2 63-64 1023"},
		{"String of none", fleet.Set{}.String(), ""},
		{"Len", s.Len(), 6},
		{"Len of all", size(fleet.All()), fleet.Parts},
		{"Has", s.Has(64), true},
		{"Has not", s.Has(65), false},
		{"nil has all", (*fleet.Set)(nil).Has(7), true},
		{"First", s.First(4), fleet.SetOf(0, 1, 2, 63)},
		{"First of fewer", s.First(10), s},
		{"First of none", s.First(0), fleet.Set{}},
		{"Minus", s.Minus(fleet.SetOf(1, 5)), fleet.SetOf(0, 2, 63, 64, 1023)},
		{"Plus", s.Plus(fleet.SetOf(1, 5)), fleet.SetOf(0, 1, 2, 5, 63, 64, 1023)},
		{"And", s.And(fleet.SetOf(1, 5, 1023)), fleet.SetOf(1, 1023)},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v, want %v", row.what, row.got, row.want)
		}
	}
}

func TestSetText(t *testing.T) {
	want := fleet.SetOf(3, 64, 1023)
	text, err := want.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var got fleet.Set
	if err := got.UnmarshalText(text); err != nil || got != want {
		t.Errorf("%s is read as %v (%v), want %v", text, got, err, want)
	}
	for _, bad := range []string{"", "12", string(text[1:]) + "x"} {
		if err := got.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%.20q is read, want an error", bad)
		}
	}
}

// TestPartOf fixes the parts of some keys: every process and every version must agree.
func TestPartOf(t *testing.T) {
	for key, want := range map[string]fleet.Part{"": 51, "account:alice": 356, "ep_1": 707} {
		if got := fleet.PartOf(key); got != want {
			t.Errorf("PartOf(%q) = %d, want %d", key, got, want)
		}
	}
	var of [fleet.Parts]int
	const keys = 100 * fleet.Parts
	for i := range keys {
		of[fleet.PartOf(fmt.Sprintf("account:user%d", i))]++
	}
	for p, n := range of {
		if n < 50 || n > 150 {
			t.Errorf("part %d has %d of %d keys, want about 100", p, n, keys)
		}
	}
}

func size(s fleet.Set) int { return s.Len() }
