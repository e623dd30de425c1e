package planted

import (
	"slices"
	"testing"
	"time"
)

func TestReports(t *testing.T) {
	run := func(tb testing.TB) {
		<-time.After(time.Millisecond)
		tb.Errorf("number %d", 1)
		tb.Error("number ", 2)
		tb.Fatalf("number %d", 3)
		tb.Errorf("beyond the end")
	}
	want := []string{"number 1", "number 2", "number 3"}
	if got := Reports(t, run); !slices.Equal(got, want) {
		t.Errorf("Reports gives %q, want %q", got, want)
	}
	if got := ReportsInBubble(t, run); !slices.Equal(got, want) {
		t.Errorf("ReportsInBubble gives %q, want %q", got, want)
	}
}

func TestFind(t *testing.T) {
	for _, row := range []struct {
		name         string
		sound, wrong []string
		reports      int
	}{
		{"a fault that is found", nil, []string{"another", "the row is missing"}, 0},
		{"a fault that is not found", nil, []string{"another"}, 1},
		{"a fault that nothing is said of", nil, nil, 1},
		{"a sound one that is blamed", []string{"the row is missing"}, []string{"the row is missing"}, 1},
	} {
		if got := Reports(t, func(tb testing.TB) { Find(tb, "its case", "is missing", row.sound, row.wrong) }); len(got) != row.reports {
			t.Errorf("%s: %q is reported, want %d sentences", row.name, got, row.reports)
		}
	}
}
