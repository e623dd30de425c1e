package main

import (
	"io"
	"strings"
	"testing"
)

// The budget of -calls is that of -platform: a source has its own.
func TestCallsNeedAPlatform(t *testing.T) {
	for args, want := range map[string]string{
		"-source a=bluesky -calls 5":                   "-calls 5 is not allowed with -source alone: want its option calls, such as -source a=bluesky,calls=5",
		"-source a=bluesky -platform bluesky -calls 5": "",
		"-source a=bluesky,calls=5":                    "",
	} {
		_, err := parseServe(process{env: noEnv, out: io.Discard}, strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
