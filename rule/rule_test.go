package rule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

func TestValidate(t *testing.T) {
	good := rule.Rule{Tag: "space", Query: "from:nasa", Interval: time.Minute, MaxResults: 20, Status: rule.Active}
	for _, row := range []struct {
		field  string // "" for none
		change func(*rule.Rule)
	}{
		{"", func(r *rule.Rule) {}},
		{"", func(r *rule.Rule) { r.Tag, r.Query = strings.Repeat("é", 100), strings.Repeat("é", 1024) }},
		{"", func(r *rule.Rule) { r.Interval = 100 * time.Millisecond }},
		{"", func(r *rule.Rule) { r.Interval, r.Schedule = 0, "*/5 * * * *" }},
		{"", func(r *rule.Rule) { r.Status = rule.Paused }},
		{"tag", func(r *rule.Rule) { r.Tag = "" }},
		{"tag", func(r *rule.Rule) { r.Tag = strings.Repeat("é", 101) }},
		{"query", func(r *rule.Rule) { r.Query = "" }},
		{"query", func(r *rule.Rule) { r.Query = strings.Repeat("q", 1025) }},
		{"interval_seconds", func(r *rule.Rule) { r.Interval = 99 * time.Millisecond }},
		{"interval_seconds", func(r *rule.Rule) { r.Interval = 25 * time.Hour }},
		{"schedule", func(r *rule.Rule) { r.Schedule = "*/5 * * * *" }},
		{"max_results_per_poll", func(r *rule.Rule) { r.MaxResults = 0 }},
		{"max_results_per_poll", func(r *rule.Rule) { r.MaxResults = 101 }},
		{"status", func(r *rule.Rule) { r.Status = "stopped" }},
	} {
		r := good
		row.change(&r)
		err := r.Validate()
		var fe *rule.FieldError
		switch {
		case row.field == "" && err != nil:
			t.Errorf("%+v: %v", r, err)
		case row.field != "" && (!errors.As(err, &fe) || fe.Wire != row.field || fe.Allowed == ""):
			t.Errorf("%+v: error %v, want one about %s", r, err, row.field)
		}
	}
}
