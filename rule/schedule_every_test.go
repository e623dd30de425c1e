package rule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
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
