package fetcher_test

import (
	"reflect"
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

// whole has the methods of every role.
type whole struct {
	fetcher.Fetcher
	fetcher.BatchFetcher
	fetcher.Searcher
	fetcher.Prober
	fetcher.Bucketer
	fetcher.Turner
	fetcher.Streamer
}

// A role is the one that is given, else the Fetcher's own.
func TestRolesOf(t *testing.T) {
	own, given := &whole{}, &whole{}
	all := fetcher.Roles{Probe: given, Batch: given, Search: given, Buckets: given, Turns: given, Stream: given, SearchStream: given}
	roles := reflect.TypeFor[fetcher.Roles]()
	for i := range roles.NumField() {
		role, want := roles.Field(i).Name, any(own)
		if role == "Probe" || role == "SearchStream" {
			want = nil
		}
		field := func(r fetcher.Roles) any { return reflect.ValueOf(r).Field(i).Interface() }
		if got := field(fetcher.RolesOf(own)); got != want {
			t.Errorf("%s of a Fetcher with all methods is %v, want %v", role, got, want)
		}
		if got := field(fetcher.RolesOf(only{own})); got != nil {
			t.Errorf("%s of a wrapper with Timeline alone is %v, want none", role, got)
		}
		if field(all.Or(fetcher.RolesOf(own))) != any(given) || field(fetcher.Roles{}.Or(all)) != any(given) {
			t.Errorf("%s is not the one that is given, or lacks where the others have it", role)
		}
	}
}
