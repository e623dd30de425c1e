package rule_test

import (
	"errors"
	"fmt"
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
			if !errors.As(err, &fe) || fe.Wire != "schedule" {
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

// Where an hour is dropped or doubled, a rule of this hour runs once: cron(8) of Debian.
func TestScheduleInSummerTime(t *testing.T) {
	for _, row := range []struct {
		expr, from string
		next       []string // UTC
		every      time.Duration
	}{
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29 01:30", "2026-03-30 00:30"}, 23 * time.Hour},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T00:00:00Z", []string{"2026-10-24 00:30", "2026-10-25 00:30", "2026-10-26 01:30"}, 24 * time.Hour},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:45:00Z", []string{"2026-10-26 01:30"}, 24 * time.Hour},
		{"CRON_TZ=Europe/Berlin 0 3 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29 01:00", "2026-03-30 01:00"}, 24 * time.Hour},
		{"CRON_TZ=Europe/Berlin 0 2,3 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29 01:00", "2026-03-30 00:00"}, time.Hour},
		{"CRON_TZ=Europe/Berlin 45 2,3 * * *", "2026-03-29T01:45:00Z", []string{"2026-03-30 00:45", "2026-03-30 01:45"}, time.Hour},
		{"CRON_TZ=Europe/Berlin 15 3,2 * * *", "2026-10-24T12:00:00Z", []string{"2026-10-25 00:15", "2026-10-25 02:15"}, time.Hour},
		{"CRON_TZ=Europe/Berlin */15 2 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29 01:00", "2026-03-29 01:15", "2026-03-29 01:30", "2026-03-29 01:45", "2026-03-30 00:00"}, 15 * time.Minute},
		{"CRON_TZ=Europe/Berlin */15 2 * * *", "2026-10-25T00:20:00Z", []string{"2026-10-25 00:30", "2026-10-25 00:45", "2026-10-26 01:00"}, 15 * time.Minute},
		{"CRON_TZ=Europe/Berlin 30 2 * * 0", "2026-03-24T00:00:00Z", []string{"2026-03-29 01:30", "2026-04-05 00:30"}, 7*24*time.Hour - time.Hour},
		{"CRON_TZ=Europe/Berlin 30 2 * * 0", "2026-10-20T00:00:00Z", []string{"2026-10-25 00:30", "2026-11-01 01:30"}, 7*24*time.Hour - time.Hour},
		{"CRON_TZ=Europe/Berlin 30 2 29 3 *", "2026-01-01T00:00:00Z", []string{"2026-03-29 01:30"}, 365*24*time.Hour - time.Hour},
		{"TZ=America/New_York 30 2 * * *", "2026-03-08T00:00:00Z", []string{"2026-03-08 07:30", "2026-03-09 06:30"}, 23 * time.Hour},
		{"TZ=America/New_York 30 1 * * *", "2026-11-01T00:00:00Z", []string{"2026-11-01 05:30", "2026-11-02 06:30"}, 24 * time.Hour},

		// A rule of all hours runs by the clock.
		{"CRON_TZ=Europe/Berlin 30 * * * *", "2026-03-28T23:45:00Z", []string{"2026-03-29 00:30", "2026-03-29 01:30"}, time.Hour},
		{"CRON_TZ=Europe/Berlin 30 * * * *", "2026-10-24T23:45:00Z", []string{"2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"}, time.Hour},
		{"CRON_TZ=Europe/Berlin @hourly", "2026-10-24T23:45:00Z", []string{"2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"}, time.Hour},
		{"CRON_TZ=Europe/Berlin 0 0-23 * * *", "2026-10-24T23:45:00Z", []string{"2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"}, time.Hour},
		{"CRON_TZ=Europe/Berlin */15 * * * *", "2026-03-29T00:40:00Z", []string{"2026-03-29 00:45", "2026-03-29 01:00", "2026-03-29 01:15"}, 15 * time.Minute},
		{"CRON_TZ=Europe/Berlin */15 * * * 0", "2026-10-25T00:40:00Z", []string{"2026-10-25 00:45", "2026-10-25 01:00", "2026-10-25 01:15"}, 15 * time.Minute},
		{"CRON_TZ=Europe/Berlin @every 40m", "2026-10-25T00:40:00Z", []string{"2026-10-25 01:20", "2026-10-25 02:00"}, 40 * time.Minute},

		// Half an hour, two hours, summer time that is an hour less, shifts at midnight.
		{"CRON_TZ=Australia/Lord_Howe 15 2 * * *", "2026-10-03T00:00:00Z", []string{"2026-10-03 15:45", "2026-10-04 15:15"}, 23*time.Hour + 30*time.Minute},
		{"CRON_TZ=Australia/Lord_Howe 45 2 * * *", "2026-10-03T00:00:00Z", []string{"2026-10-03 15:45", "2026-10-04 15:45"}, 24 * time.Hour},
		{"CRON_TZ=Australia/Lord_Howe 45 1 * * *", "2026-04-04T00:00:00Z", []string{"2026-04-04 14:45", "2026-04-05 15:15"}, 24 * time.Hour},
		{"CRON_TZ=Australia/Lord_Howe */30 * * * *", "2026-04-04T14:20:00Z", []string{"2026-04-04 14:30", "2026-04-04 15:00", "2026-04-04 15:30"}, 30 * time.Minute},
		{"CRON_TZ=Antarctica/Troll 30 1,2 * * *", "2026-03-29T00:00:00Z", []string{"2026-03-29 01:30", "2026-03-29 02:30", "2026-03-29 23:30"}, time.Hour},
		{"CRON_TZ=Europe/Dublin 30 1 * * *", "2026-03-29T00:00:00Z", []string{"2026-03-29 01:30", "2026-03-30 00:30"}, 23 * time.Hour},
		{"CRON_TZ=Europe/Dublin 30 1 * * *", "2026-10-25T00:00:00Z", []string{"2026-10-25 00:30", "2026-10-26 01:30"}, 24 * time.Hour},
		{"CRON_TZ=Africa/Cairo @daily", "2026-04-23T12:00:00Z", []string{"2026-04-23 22:00", "2026-04-24 21:00"}, 23 * time.Hour},
		{"CRON_TZ=Africa/Cairo 30 0 * * 5", "2026-04-20T00:00:00Z", []string{"2026-04-23 22:30", "2026-04-30 21:30"}, 7*24*time.Hour - time.Hour},
		{"CRON_TZ=Africa/Cairo 30 23 * * *", "2026-10-29T00:00:00Z", []string{"2026-10-29 20:30", "2026-10-30 21:30"}, 24 * time.Hour},
		{"CRON_TZ=Africa/Cairo @daily", "2026-10-28T12:00:00Z", []string{"2026-10-28 21:00", "2026-10-29 22:00"}, 24 * time.Hour},
		{"CRON_TZ=Asia/Beirut 0 0 29 * *", "2026-03-01T00:00:00Z", []string{"2026-03-28 22:00", "2026-04-28 21:00"}, 29*24*time.Hour - time.Hour},
		{"CRON_TZ=America/Santiago @weekly", "2026-09-01T00:00:00Z", []string{"2026-09-06 04:00", "2026-09-13 03:00"}, 7*24*time.Hour - time.Hour},
		{"CRON_TZ=America/Santiago 30 23 * * 6", "2026-04-01T00:00:00Z", []string{"2026-04-05 02:30", "2026-04-12 03:30"}, 7*24*time.Hour - time.Hour},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2048-12-30T12:00:00Z", []string{"2048-12-31 01:30", "2049-01-01 01:30"}, 23 * time.Hour},
	} {
		s, err := rule.ParseSchedule(row.expr)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.Parse(time.RFC3339, row.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Every(from); got != row.every {
			t.Errorf("%q from %s: every %s, want %s", row.expr, row.from, got, row.every)
		}
		for _, want := range row.next {
			at := s.Next(from)
			if got := at.Format("2006-01-02 15:04"); got != want {
				t.Errorf("%q after %s: next %s, want %s", row.expr, from.Format(time.RFC3339), got, want)
			}
			from = at
		}
	}
}

// A daily rule runs once for each day, at whichever time.
func TestScheduleRunsOnceADay(t *testing.T) {
	for _, zone := range []string{"Europe/London", "America/Havana", "Africa/Casablanca", "Australia/Lord_Howe", "Antarctica/Troll"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for half := range 48 {
			expr := fmt.Sprintf("CRON_TZ=%s %d %d * * *", zone, half%2*30, half/2)
			s, err := rule.ParseSchedule(expr)
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			last := time.Date(2026, 1, 1, 0, 0, 0, 0, loc).Add(-time.Second)
			end := time.Date(2027, 1, 1, 0, 0, 0, 0, loc)
			for at := s.Next(last); at.Before(end); at = s.Next(at) {
				runs++
				if runs > 1 && (at.Sub(last) < 22*time.Hour || at.Sub(last) > 26*time.Hour) {
					t.Errorf("%q: %s after %s", expr, at, last)
				}
				last = at
			}
			if runs != 365 {
				t.Errorf("%q: %d runs in 2026, want 365", expr, runs)
			}
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, expr := range []string{"*/5 * * * *", "0 9-17/2 1,15 jan-mar mon#1", "@every 1h", "TZ=UTC 0 0 * * *", "TZ=Africa/Cairo 0 0 * * 5", "TZ=0", "CRON_TZ=", "* * L * ?"} {
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
