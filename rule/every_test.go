package rule_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight, 1 January 2000
		d := newDesk(t, nil)
		// At 1 and 3 o'clock: two hours apart, and one on 26 March, when summer time
		// begins.
		summer := rule.Rule{Schedule: "CRON_TZ=Europe/Berlin 0 1,3 * * *"}
		hourly := rule.Rule{Schedule: "@hourly"}
		for _, row := range []struct {
			after time.Duration
			r     rule.Rule
			want  time.Duration
		}{
			{0, rule.Rule{Interval: time.Minute}, time.Minute},
			{0, hourly, time.Hour},
			{0, rule.Rule{Schedule: "CRON_TZ=Nowhere/City * * * * *"}, 0},
			{0, rule.Rule{Schedule: "0 0 1,2 1 *"}, 24 * time.Hour},
			{23 * time.Hour, hourly, time.Hour},
			{24 * time.Hour, hourly, time.Hour},
			{0, rule.Rule{Schedule: "*/5 9 * * *"}, 5 * time.Minute},
			{0, summer, 2 * time.Hour},
			{60 * 24 * time.Hour, summer, time.Hour},
			{0, rule.Rule{Schedule: "*/5 9 * * *", Interval: time.Second}, 5 * time.Minute},
		} {
			<-time.After(row.after)
			if got := d.Every(row.r); got != row.want {
				t.Errorf("%+v: every %s, want %s", row.r, got, row.want)
			}
		}
		for i := range 20_000 { // more than are cached
			if got := d.Every(rule.Rule{Schedule: fmt.Sprintf("@every %ds", i+1)}); got != time.Duration(i+1)*time.Second {
				t.Fatalf("@every %ds: %s", i+1, got)
			}
		}
		if n := testing.AllocsPerRun(100, func() { d.Every(hourly) }); n != 0 {
			t.Errorf("%v allocations for a cached schedule", n)
		}
	})
}

func BenchmarkEvery(b *testing.B) {
	d := newDesk(b, nil)
	r := rule.Rule{Schedule: "*/5 9-17 * * 1-5"}
	b.Run("computed", func(b *testing.B) {
		for b.Loop() {
			s, err := rule.ParseSchedule(r.Schedule)
			if err != nil {
				b.Fatal(err)
			}
			s.Every(time.Now())
		}
	})
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			d.Every(r)
		}
	})
}
