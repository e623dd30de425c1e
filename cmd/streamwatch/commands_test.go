package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
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
		"":                    {78, "", "command is missing: want one of these"},
		"help":                {0, "  serve ", ""},
		"-h":                  {0, "  version ", ""},
		"help serve":          {0, "-platform", ""},
		"serve -h":            {0, "streamwatch serve [flags]", ""},
		"key -h":              {0, "-credits", ""},
		"kyes":                {78, "", `command "kyes" is not known: the nearest is "key"`},
		"--version":           {0, "go          go1.", ""},
		"version -json":       {0, `"go": "go1.`, ""},
		"serve -plaform x":    {78, "", "flag -plaform is not known: the nearest is -platform"},
		"version":             {0, "go          go1.", ""},
		"version stray":       {78, "", `argument "stray" is not allowed`},
		"serve -nonsense":     {78, "", "-nonsense"},
		"serve":               {78, "", "want either -demo, -platform"},
		"keys -owner a -db /": {1, "", "/"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, strings.Fields(args))
		if got := status(err); got != want.status || !strings.Contains(out.String(), want.out) || !strings.Contains(fmt.Sprint(err), want.err) {
			t.Errorf("%q: status %d, error %v, output %q; want %+v", args, got, err, &out, want)
		}
	}
}

// What a newcomer reads is not broken by a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	for _, group := range program.Groups {
		for _, c := range group.Commands {
			var out bytes.Buffer
			if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, strings.Fields("help "+c.Name)); status(err) != 0 {
				t.Errorf("%s: %v", c.Name, err)
			}
			for line := range strings.Lines(out.String()) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 79 {
					t.Errorf("%s: a line of %d characters: %s", c.Name, n, line)
				}
			}
		}
	}
}

// The help of serve has each key of the configuration file, as a flag or among the others.
func TestHelpHasAllKeys(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, []string{"serve", "-h"}); status(err) != 0 {
		t.Fatal(err)
	}
	for _, key := range keysOf(reflect.TypeFor[config]()) {
		if !strings.Contains(out.String(), "\n  -"+key+" ") && !strings.Contains(out.String(), "\n    "+key+" ") {
			t.Errorf("no %s in\n%s", key, &out)
		}
	}
}
