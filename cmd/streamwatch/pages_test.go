package main

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/manual"
)

// A newcomer who copies the blocks of docs/start.md into a shell, one after the other, has a signed
// webhook verified in Python. What rules.md and errors.md show comes after it.
func TestPages(t *testing.T) {
	manual.Need(t, "bash", "curl", "openssl", "python3")
	t.Parallel()
	d := serveDemo(t, "drain: 0s")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()

	var out heard.Output
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e")
	shell.Dir, shell.Stdout, shell.Stderr = t.TempDir(), &out, &out
	shell.Env = append(os.Environ(), "KEY="+d.key, "BASE="+d.base)
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.Cancel, shell.WaitDelay = in.Close, time.Second
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer in.Close() // ends the shell, if a step fails, and the receiver with it
	io.WriteString(in, "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n")
	ended := make(chan error, 1)
	go func() {
		ended <- shell.Wait()
		out.End()
	}()
	start := manual.Section(t, manual.Page(t, "docs/start.md"), "## Run it: a signed webhook in five minutes")
	rules, errors := manual.Section(t, manual.Page(t, "docs/rules.md"), "## Make one"), manual.Page(t, "docs/errors.md")
	steps := manual.Blocks(strings.ReplaceAll(start, "9000", free.Addr().String()[len("127.0.0.1:"):])+rules+errors, "sh")
	refused := regexp.MustCompile(`\n    (\{.*)\n`).FindStringSubmatch(errors)[1]
	wants := []string{ // what is printed after each step
		`listening`,
		`"id":"mon_(?s:.*)(verified: @\w+: (?s:.*)){20}`, // by then the first of them are logged
		`"delivery_status":"webhook_delivered"(?s:.*)"create_monitor"(?s:.*)"credits_balance":\d(?s:.*)streamwatch_events_total`,
		`"tag":"posts"`,
		`"username":"nasa"(?s:.*)\*\*bold\*\*(?s:.*)"Cotton Shirt"`,
		``, // the receiver is stopped
		`"normalized":"rocket OR (?s:.*)"tiers":(?s:.*)"tag":"launches"(?s:.*)"logs":\[\{`,
		regexp.QuoteMeta(refused),
	}
	if len(steps) != len(wants) {
		t.Fatalf("the pages have %d blocks, want %d", len(steps), len(wants))
	}
	for i, want := range wants {
		if _, err := io.WriteString(in, steps[i]); err != nil {
			t.Fatalf("step %d: %v\n%s", i+1, err, &out)
		}
		out.Wait(t, want)
	}
	in.Close()
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	d.stop()
	d.end(t)
}

// commandsIn returns the lines of a text that run the program, as arguments.
func commandsIn(text string) (lines [][]string) {
	for _, m := range regexp.MustCompile(`(?m)^ *(?:streamwatch|beside|go run \./cmd/streamwatch) ([a-z][^#\n]*)`).FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", ""), -1) {
		lines = append(lines, strings.Fields(m[1]))
	}
	return lines
}

// The commands that the pages show are there, with their flags.
func TestPagesNameFlags(t *testing.T) {
	commands := 0
	for _, page := range []string{"README.md", "docs/start.md", "docs/sources.md", "docs/operate.md", "docs/stores.md", "docs/fleet.md", "docs/latency-benchmark.md"} {
		for _, args := range commandsIn(manual.Page(t, page)) {
			commands++
			name := args[:1]
			if args[0] == "bench" {
				name = args[:2]
			}
			var help heard.Output
			run(t.Context(), process{Env: noEnv, Out: &help, Logs: &help}, append(slices.Clone(name), "-h"))
			for _, arg := range args {
				if flag := regexp.MustCompile(`^--?([a-z-]+)`).FindString(arg); flag != "" && !regexp.MustCompile(`(?m)^ +`+flag+`\b`).MatchString(help.String()) {
					t.Errorf("%s: %v has no flag %s:\n%s", page, name, flag, &help)
				}
			}
		}
	}
	if commands < 25 {
		t.Errorf("%d commands are shown", commands)
	}
}

// What docs/operate.md shows of keys and credits works, one after the other.
func TestPageOfKeys(t *testing.T) {
	db, id := filepath.Join(t.TempDir(), "a.db"), ""
	for _, args := range commandsIn(manual.Section(t, manual.Page(t, "docs/operate.md"), "## Keys and credits")) {
		for i := range args {
			args[i] = strings.NewReplacer("streams.db", db, "key_…", id).Replace(args[i])
		}
		var out heard.Output
		if err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: &out}, args); err != nil {
			t.Errorf("%v: %v\n%s", args, err, &out)
		}
		if found := regexp.MustCompile(`\bkey_\w+`).FindString(out.String()); found != "" {
			id = found
		}
	}
	if id == "" {
		t.Error("no key was shown")
	}
}
