package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Durations are for people, in both formats and at every depth.
func TestLogHasDurationsAsText(t *testing.T) {
	for format, want := range map[string]string{
		"json": `"source":"a","every":"1m0s","poll":{"wait":"1.5s","calls":3}}`,
		"text": `source=a every=1m0s poll.wait=1.5s poll.calls=3`,
	} {
		var out bytes.Buffer
		logger(config{Log: format}, &out).With("source", "a", "every", time.Minute).WithGroup("poll").Info("late", "wait", 1500*time.Millisecond, "calls", 3)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, &out, want)
		}
	}
}
