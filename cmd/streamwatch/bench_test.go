package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// The exit status of the bench commands says whose mistake it was.
func TestBenchCommands(t *testing.T) {
	for args, want := range map[string]struct {
		status   int
		out, err string
	}{
		"help bench latency":       {0, "-detector", ""},
		"bench latency -mode push": {78, "", "-detector self"},
		"bench detector stray":     {78, "", `argument "stray"`},
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, strings.Fields(args))
		if got := status(err); got != want.status || !strings.Contains(out.String(), want.out) || !strings.Contains(fmt.Sprint(err), want.err) {
			t.Errorf("%q: status %d, error %v, output %q; want %+v", args, got, err, &out, want)
		}
	}
}
