package rule_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

func TestSchedule(t *testing.T) {
	from := time.Date(2026, 3, 6, 8, 59, 30, 0, time.UTC) // a Friday
	for _, row := range []struct {
		expr, next string // "" when refused
		every      time.Duration
	}{
		{"*/5 * * * *", "2026-03-06T09:00:00Z", 5 * time.Minute},
		{"0 9-17 * * 1-5", "2026-03-06T09:00:00Z", time.Hour},
		{"0 9 * * 1-5", "2026-03-06T09:00:00Z", 24 * time.Hour},
		{"0,1 0 * * *", "2026-03-07T00:00:00Z", time.Minute},
		{"@daily", "2026-03-07T00:00:00Z", 24 * time.Hour},
		{"@every 90s", "2026-03-06T09:01:00Z", 90 * time.Second},
		{"CRON_TZ=America/New_York 0 9 * * *", "2026-03-06T14:00:00Z", 23 * time.Hour}, // on the next day, summer time begins
		{"0 0 29 2 *", "2028-02-29T00:00:00Z", 366 * 24 * time.Hour},
		{"", "", 0},
		{"* * * *", "", 0},
		{"60 * * * *", "", 0},
		{"0 0 30 2 *", "", 0}, // never comes
		{"@never", "", 0},
		{"CRON_TZ=Nowhere/City 0 9 * * *", "", 0},
		{"TZ=", "", 0},
	} {
		s, err := rule.ParseSchedule(row.expr)
		var fe *rule.FieldError
		if row.next == "" {
			if !errors.As(err, &fe) || fe.Field != "schedule" {
				t.Errorf("%q: error %v, want one about the schedule", row.expr, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", row.expr, err)
			continue
		}
		if got := s.Next(from).Format(time.RFC3339); got != row.next {
			t.Errorf("%q: next %s, want %s", row.expr, got, row.next)
		}
		if got := s.Every(from); got != row.every {
			t.Errorf("%q: every %s, want %s", row.expr, got, row.every)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, expr := range []string{"*/5 * * * *", "0 9-17/2 1,15 jan-mar mon#1", "@every 1h", "TZ=UTC 0 0 * * *", "TZ=0", "CRON_TZ=", "* * L * ?"} {
		f.Add(expr)
	}
	from := time.Date(2026, 3, 6, 8, 59, 30, 0, time.UTC)
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := rule.ParseSchedule(expr)
		if err != nil {
			return
		}
		if next := s.Next(from); !next.IsZero() && !next.After(from) {
			t.Errorf("%q: next %s is not after %s", expr, next, from)
		}
	})
}
