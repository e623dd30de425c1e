package redisstore

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
)

// rewrite waits for the rewrite that it has asked for, and for its outcome alone.
func TestRewriteIsWaitedFor(t *testing.T) {
	const started, scheduled = "Background saving started", "Background saving scheduled"
	state := func(text string) map[string]string {
		fields := map[string]string{}
		for field := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		return fields
	}
	for _, row := range []struct {
		name          string
		before, after []string // what INFO tells before and after the command, the last one from then on
		told          string
		want          bool // rather than an error
	}{
		{"started", []string{"status=ok saves=1"}, []string{"running=1 status=ok saves=2", "status=ok saves=2"}, started, true},
		{"started, and done at once", []string{"status=ok time=7"}, []string{"status=ok time=7"}, started, true},
		{"one is under way", []string{"running=1 status=ok saves=1", "status=ok saves=1"}, []string{"running=1 status=ok saves=2", "status=ok saves=2"}, started, true},
		{"fails", []string{"status=ok saves=1"}, []string{"running=1 status=ok saves=2", "status=err saves=2"}, started, false},
		{"an earlier one failed", []string{"status=err saves=1"}, []string{"running=1 status=err saves=2", "status=ok saves=2"}, started, true},
		{"begins later", []string{"status=ok saves=1"}, []string{"status=ok saves=1", "status=ok saves=1", "running=1 status=ok saves=2", "status=ok saves=2"}, scheduled, true},
		{"begins later, unseen", []string{"status=ok saves=1"}, []string{"status=ok saves=1", "status=ok saves=2"}, scheduled, true},
		{"begins later, on a server that does not count", []string{"status=ok time=7"}, []string{"status=ok time=7", "status=ok time=9"}, scheduled, true},
		{"begins later, after one that failed", []string{"status=err time=7"}, []string{"status=err time=7", "running=1 status=err time=7", "status=ok time=9"}, scheduled, true},
		{"begins later and fails", []string{"status=ok saves=1"}, []string{"status=ok saves=1", "status=err saves=2"}, scheduled, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := row.before
				info := func(context.Context) (map[string]string, error) {
					is := told[0]
					told = told[min(1, len(told)-1):]
					return state(is), nil
				}
				begin := func(context.Context) *redis.StatusCmd {
					told = row.after
					return redis.NewStatusResult(row.told, nil)
				}
				err := rewrite(t.Context(), info, begin, rewriting{running: "running", status: "status", moves: []string{"saves", "time"}})
				if (err == nil) != row.want {
					t.Errorf("the outcome is %v, want success: %v", err, row.want)
				}
				if len(told) > 1 {
					t.Errorf("returned before %q", told)
				}
			})
		})
	}
}
