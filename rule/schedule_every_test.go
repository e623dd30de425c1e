package rule_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// @every takes what can be kept: whole seconds, and none of the past.
func TestScheduleEveryIsKeptOrRefused(t *testing.T) {
	for expr, every := range map[string]time.Duration{
		"@every 1s":                           time.Second,
		"@every 1m30s":                        90 * time.Second,
		"@every 2000ms":                       2 * time.Second,
		"CRON_TZ=America/New_York @every 10s": 10 * time.Second,
		"@every -5s":                          0,
		"@every 0s":                           0,
		"@every 1ms":                          0,
		"@every 1.5s":                         0,
		"CRON_TZ=America/New_York @every -1h": 0,
	} {
		s, err := rule.ParseSchedule(expr)
		var fe *rule.FieldError
		switch {
		case every == 0 && (!errors.As(err, &fe) || !strings.Contains(err.Error(), "whole seconds")):
			t.Errorf("%q: error %v, want one that asks for whole seconds", expr, err)
		case every > 0 && err != nil:
			t.Errorf("%q: %v", expr, err)
		case every > 0 && s.Every(time.Unix(0, 0)) != every:
			t.Errorf("%q: every %s, want %s", expr, s.Every(time.Unix(0, 0)), every)
		}
	}
}

// A schedule comes due as seldom as Config.MinInterval asks of an interval, or is refused
// with what is allowed. What is stored already stays.
func TestScheduleKeepsToMinInterval(t *testing.T) {
	for _, row := range []struct {
		least    time.Duration
		schedule string
		ok       bool
	}{
		{0, "@every 1s", true},
		{time.Second, "@every 1s", true},
		{2 * time.Second, "@every 1s", false},
		{time.Minute, "@every 59s", false},
		{time.Minute, "* * * * *", true},
		{61 * time.Second, "* * * * *", false},
		{5 * time.Minute, "* * * * *", false},
		{5 * time.Minute, "*/5 9 * * *", true},
		{5 * time.Minute, "0,4 9 * * 1", false},
		{time.Hour, "@hourly", true},
		{2 * time.Hour, "@hourly", false},
		{24 * time.Hour, "@daily", true},
		{24 * time.Hour, "@yearly", true},
	} {
		store := memory.New(memory.Options{}).Ports().Records
		managerOf := func(least time.Duration) *rule.Manager {
			return deskOver(t, store, func(c *rule.Config) {
				c.MinInterval, c.Now = least, func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }
			}).Manager
		}
		m := managerOf(row.least)
		check := func(what string, err error) {
			var fe *rule.FieldError
			refused := errors.As(err, &fe) && fe.Wire == "schedule" && strings.Contains(fe.Allowed, fmt.Sprint(row.least.Seconds())+" s")
			if row.ok != (err == nil) || refused == row.ok {
				t.Errorf("at least %s, %s with %q: error %v", row.least, what, row.schedule, err)
			}
		}
		_, err := m.Create(t.Context(), rule.CreateRequest{Tag: "a", Query: "moon", Schedule: row.schedule})
		check("a rule", err)
		b, err := m.Create(t.Context(), rule.CreateRequest{Tag: "b", Query: "moon", Interval: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Update(t.Context(), "", b.ID, rule.UpdateRequest{Schedule: &row.schedule})
		check("an update", err)
		if row.ok {
			continue
		}
		c, err := managerOf(0).Create(t.Context(), rule.CreateRequest{Tag: "c", Query: "moon", Schedule: row.schedule})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Pause(t.Context(), "", c.ID); err != nil {
			t.Errorf("pausing a rule that is stored already: %v", err)
		}
		if r, err := m.Resume(t.Context(), "", c.ID); err != nil || r.Schedule != row.schedule {
			t.Errorf("resuming it: %+v, %v", r, err)
		}
	}
}
