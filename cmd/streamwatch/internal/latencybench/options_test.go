package latencybench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/command"
)

// parse reads a command line.
func parse(t *testing.T, line string) (o options, err error) {
	g := command.Program{Groups: []command.Group{{Commands: []command.Command{{Name: "bench", Define: func(f *command.Flags) command.Run {
		into := define(f)
		return func(context.Context, command.Process) error {
			err := into.check(f)
			o = *into
			return command.Usage(err)
		}
	}}}}}}
	err = g.Run(t.Context(), command.Process{}, append([]string{"bench"}, strings.Fields(line)...))
	return o, err
}

func TestOptionsThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"stray":                        `argument "stray"`,
		"-nonsense":                    "-nonsense",
		"-rate 0":                      "-rate 0",
		"-rate NaN":                    "-rate NaN",
		"-posts -1":                    "-posts -1",
		"-accounts 10001":              "-accounts 10001",
		"-for 25h":                     "-for 25h",
		"-for 1s -warmup 1s":           "-warmup 1s",
		"-wait 7h":                     "-wait 7h",
		"-after 2h":                    "-after 2h",
		"-webhook off":                 "nothing could arrive",
		"-websocket http://x":          "-websocket",
		"-websocket self":              "-detector self",
		"-websocket-header key":        "name: value",
		"-detector theirs":             `-detector "theirs"`,
		"-mode push":                   "-detector self",
		"-detector self -post {text}":  "fake platform alone",
		"-detector self -webhook off":  "nothing could arrive",
		"-detector self -mode magic":   `-mode "magic"`,
		"-detector self -interval 1ms": "-interval 1ms",
		"-detector self -nodes 11":     "-nodes 11",
		"-detector self -store disk":   "-store is not allowed: want sqlite, or redis://",
		"-detector self -nodes 2":      "-store sqlite",
		"-post {text} -gap 1ms":        "-gap 1ms is not allowed: want 1s or more",
		"-post nothing":                "-post is not allowed: want a command with {text}",
		"-gap 5s":                      "-gap 5s is not allowed: want 1s or more, and -post",
		"-post {text} -accounts 2":     "-accounts and -listen",
		"-websocket-header a:b":        "-websocket-header is not allowed without -websocket",
	} {
		_, err := parse(t, line)
		if err == nil || !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want a usage error with %s", line, err, want)
		}
	}
}

func TestDefaultsDependOnThePlatform(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "300 posts, 2 a second",
		"-post {text}":                   "30 posts, 0.05 a second",
		"-posts 7 -rate 3 -post {text}":  "7 posts, 3 a second",
		"-detector self -websocket self": "300 posts, 2 a second",
	} {
		o, err := parse(t, line)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if got := fmt.Sprintf("%d posts, %v a second", o.plan.posts, o.plan.rate); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestHeaderVariables(t *testing.T) {
	_, err := headers{"x-api-key: $MY_KEY"}.expand(func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), "MY_KEY is not set") {
		t.Errorf("error %v, want one that names the variable", err)
	}
}

func TestSchedule(t *testing.T) {
	for _, tc := range []struct {
		name     string
		plan     plan
		gap      time.Duration
		min, max int // posts
		within   time.Duration
	}{
		{"as long as asked", plan{rate: 10, posts: 10_000, within: 100 * time.Second, accounts: 3}, 0, 900, 1100, 100 * time.Second},
		{"as many as asked", plan{rate: 10, posts: 50, within: time.Hour, accounts: 3}, 0, 50, 50, time.Minute},
		{"a gap", plan{rate: 10, posts: 10_000, within: 100 * time.Second, accounts: 1}, 5 * time.Second, 19, 20, 100 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := tc.plan.schedule(tc.gap)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(list); n < tc.min || n > tc.max || list[n-1].at > tc.within {
				t.Errorf("%d posts within %s, want %d to %d within %s", n, list[n-1].at, tc.min, tc.max, tc.within)
			}
			used := map[int]bool{}
			for i, d := range list {
				used[d.account] = true
				if d.account < 0 || d.account >= tc.plan.accounts || i > 0 && d.at-list[i-1].at < tc.gap {
					t.Fatalf("post %d is due at %s by account %d, after one at %s", i, d.at, d.account, list[max(0, i-1)].at)
				}
			}
			if len(used) != tc.plan.accounts {
				t.Errorf("%d accounts post, want %d", len(used), tc.plan.accounts)
			}
			again, err := tc.plan.schedule(tc.gap)
			if err != nil || fmt.Sprint(again) != fmt.Sprint(list) {
				t.Errorf("the same seed gives another schedule (%v)", err)
			}
		})
	}
	if _, err := (plan{rate: 0.001, posts: 9, within: time.Millisecond, accounts: 1}).schedule(0); err == nil {
		t.Error("no error for a schedule without posts")
	}
}
