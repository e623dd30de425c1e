package main

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// In virtual time nothing takes time but the wait for the next poll, half an interval in the mean, or
// with a stream nothing.
func TestRun(t *testing.T) {
	for push, want := range map[bool]struct{ from, to time.Duration }{
		false: {500 * time.Millisecond, 1500 * time.Millisecond},
		true:  {0, 10 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), &out, options{posts: 500, lasts: time.Minute, interval: 2 * time.Second, push: push}); err != nil {
				t.Fatal(err)
			}
			m := regexp.MustCompile(`^500 posts, from publication to 2xx: p50 (\S+), p95 (?s:.*)\nschedule +(\S+) %`).FindStringSubmatch(out.String())
			if m == nil {
				t.Fatalf("no figures in\n%s", &out)
			}
			p50, err := time.ParseDuration(m[1])
			if err != nil || p50 < want.from || p50 > want.to {
				t.Errorf("push %v: p50 %s, %v, want %s to %s", push, p50, err, want.from, want.to)
			}
			if share, err := strconv.ParseFloat(m[2], 64); err != nil || !push && share < 90 {
				t.Errorf("push %v: waiting is %v %% of it, %v", push, share, err)
			}
		})
	}
}
