package detect

import (
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

// A rule that is given another time of the day is polled then, and not once more at the time
// that it had.
func TestRuleWithAnotherSchedule(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		began := time.Now() // on January 1, at midnight
		set := func(expr string) {
			t.Helper()
			schedule, err := rule.ParseSchedule(expr)
			if err != nil {
				t.Fatal(err)
			}
			s := asks("r", "moon")
			s.Interval, s.Next, s.Every = 0, schedule.Next, schedule.Every(began)
			setQuery(t, d, s)
		}
		set("0 9 * * *")
		after(time.Hour)
		set("0 3 * * *")
		after(30 * time.Hour)
		times, _ := w.polled("moon")
		var got []string
		for _, at := range times {
			got = append(got, at.UTC().Format("2 15:04"))
		}
		if want := []string{"1 03:00", "2 03:00"}; !slices.Equal(got, want) {
			t.Errorf("polled at %q, want %q", got, want)
		}
	})
}
