package replay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/fetcher"
)

// What a program must have found depends on the calls it made: of four posts, on
// pages of one, with all of them out before the first call. Calls are f for a
// first page, o for the next older one, in capitals when they fail.
func TestOwed(t *testing.T) {
	a := &arrivals.Recording{Start: time.Unix(0, 0), Length: time.Minute, Posts: [][]time.Duration{{1e9, 2e9, 3e9, 4e9}}}
	for _, tc := range []struct {
		calls string
		want  string // numbers of posts
	}{
		{"", ""},
		{"f", "4"},
		{"fo", "34"},
		{"foO", "34"},
		{"ff", "1234"},
		{"foof", "1234"},
		{"fF", "1234"},
		{"foOf", "34"},
		{"foOF", "34"},
		{"foOff", "1234"},
		{"foffoOf", "1234"},
		{"F", ""},
		{"FF", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := New(Config{Arrivals: a, PageSize: 1})
			<-time.After(time.Minute)
			next := ""
			for _, call := range tc.calls {
				q := fetcher.TimelineQuery{Username: "account0001"}
				if call == 'o' || call == 'O' {
					q.Cursor = next
				}
				r.cfg.ErrorShare = 0
				if call == 'F' || call == 'O' {
					r.cfg.ErrorShare = 1
				}
				page, err := r.Timeline(t.Context(), q)
				if (err != nil) != (r.cfg.ErrorShare == 1) {
					t.Fatal(err)
				}
				next = page.Next
				<-time.After(time.Second)
			}
			got := ""
			for post := range 4 {
				if r.owed(0, post) {
					got += string(rune('1' + post))
				}
			}
			if got != tc.want {
				t.Errorf("after %q posts %q are owed, want %q", tc.calls, got, tc.want)
			}
		})
	}
}
