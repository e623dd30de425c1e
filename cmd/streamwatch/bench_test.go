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
		"help bench latency":                                    {0, "-receipts", ""},
		"bench latency -mode push":                              {78, "", "-detector self"},
		"bench latency -on bluesky -server https://pds.example": {1, "", "app password is missing"},
		"bench verify -h":                                       {0, "bench verify [flags] FILE", ""},
		"bench verify":                                          {78, "", "want one"},
		"bench verify /does/not/exist":                          {1, "", "/does/not/exist"},
		"bench detector -h":                                     {0, "-webhook", ""},
		"bench detector -platform http":                         {78, "", "-webhook"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, strings.Fields(args))
		if got := status(err); got != want.status || !strings.Contains(out.String(), want.out) || !strings.Contains(fmt.Sprint(err), want.err) {
			t.Errorf("%q: status %d, error %v, output %q; want %+v", args, got, err, &out, want)
		}
	}
}
