package fetcher_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestReach(t *testing.T) {
	base := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	// Posts are given as minutes before base; never marks one without a time.
	const never = -1
	tests := []struct {
		name  string
		posts []int
		want  int
	}{
		{"no posts", nil, never},
		{"only posts without a time", []int{never, never}, never},
		{"one post", []int{5}, 5},
		{"newest first: the last but one", []int{1, 2, 3}, 2},
		{"the last post's time is far too early", []int{1, 2, 9999}, 2},
		{"an early time in the middle is passed", []int{1, 9999, 3, 4}, 3},
		{"two early times do reach back", []int{1, 9998, 9999}, 9998},
		{"the last two out of order", []int{1, 4, 3}, 3},
		{"posts without a time do not count", []int{1, 2, 3, never}, 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			at := func(minutes int) time.Time {
				if minutes == never {
					return time.Time{}
				}
				return base.Add(-time.Duration(minutes) * time.Minute)
			}
			var r fetcher.Reach
			for _, m := range tc.posts {
				r.Add(at(m))
			}
			if got := r.Time(); !got.Equal(at(tc.want)) {
				t.Errorf("Time = %v, want %v", got, at(tc.want))
			}
		})
	}
}

// only hides all methods of a Fetcher but Timeline, as a wrapper does.
type only struct{ fetcher.Fetcher }

func TestRolesOf(t *testing.T) {
	s, other := &shelf{}, &shelf{}
	if r := fetcher.RolesOf(s); r.Batch != s || r.Search != s {
		t.Errorf("roles %+v, want both of the Fetcher's own", r)
	}
	if r := fetcher.RolesOf(only{s}); r.Batch != nil || r.Search != nil {
		t.Errorf("roles %+v of a wrapper with Timeline alone, want none", r)
	}
	got := fetcher.Roles{Search: other}.Or(fetcher.RolesOf(s))
	if got.Batch != s || got.Search != other {
		t.Errorf("roles %+v, want the one that is given, and what lacks from the others", got)
	}
}
