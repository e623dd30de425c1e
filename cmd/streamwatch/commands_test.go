package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	fakeRate.PerSecond = 20
	goleak.VerifyTestMain(m)
}

func noEnv(string) (string, bool) { return "", false }

// Each command is found by its words, what follows is its own, and the exit status says
// whose mistake it was.
func TestRun(t *testing.T) {
	for args, want := range map[string]struct {
		status   int
		out, err string
	}{
		"":                    {78, "", "command is missing: want one of serve, check, key"},
		"help":                {0, "    serve ", ""},
		"-h":                  {0, "    version ", ""},
		"help serve":          {0, "-platform", ""},
		"serve -h":            {0, "streamwatch serve [flags]", ""},
		"key -h":              {0, "-credits", ""},
		"dance":               {78, "", `command "dance" is not allowed: want one of serve, check, key`},
		"version":             {0, "go          go1.", ""},
		"version stray":       {78, "", `argument "stray" is not allowed`},
		"serve -nonsense":     {78, "", "-nonsense"},
		"serve":               {78, "", "want either -demo, -platform"},
		"keys -owner a -db /": {1, "", "/"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, strings.Fields(args))
		if got := status(err); got != want.status || !strings.Contains(out.String(), want.out) || !strings.Contains(fmt.Sprint(err), want.err) {
			t.Errorf("%q: status %d, error %v, output %q; want %+v", args, got, err, &out, want)
		}
	}
}

// A command may have two words; the first that fits runs.
func TestFind(t *testing.T) {
	for args, want := range map[string]string{"serve -demo": "serve [-demo]", "key x y": "key [x y]", "keys": "keys []", "ser": ""} {
		got := ""
		if c, rest, ok := find(strings.Fields(args)); ok {
			got = fmt.Sprint(c.name, " ", rest)
		}
		if got != want {
			t.Errorf("find(%q) is %q, want %q", args, got, want)
		}
	}
}
