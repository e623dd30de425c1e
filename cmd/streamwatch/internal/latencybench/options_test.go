package latencybench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/poster"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

func TestOptionsThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"stray":                      `argument "stray"`,
		"-nonsense":                  "-nonsense",
		"-on myspace":                `-on "myspace"`,
		"-on mastodon":               "-server is missing",
		"-on bluesky":                "-server is missing",
		"-on fake -server https://x": "-server are not allowed",
		"-on fake -post {text}":      "-on and -post",
		"-post {text} -delete":       "-delete is not allowed",
		"-delete":                    "-delete",
		"-on bluesky -server https://x -accounts 2": "-accounts",
		"-rate 0":                      "-rate 0",
		"-rate NaN":                    "-rate NaN",
		"-posts -1":                    "-posts -1",
		"-burst 0":                     "-burst 0",
		"-accounts 10001":              "-accounts 10001",
		"-for 25h":                     "-for 25h",
		"-for 1s -warmup 1s":           "-warmup 1s",
		"-wait 7h":                     "-wait 7h",
		"-after 2h":                    "-after 2h",
		"-webhook off":                 "nothing could arrive",
		"-websocket http://x":          "-websocket",
		"-websocket self":              "-detector self",
		"-websocket-header key":        "name: value",
		"-signature md5":               "-signature",
		"-detector theirs":             `-detector "theirs"`,
		"-mode push":                   "-detector self",
		"-detector self -post {text}":  "fake platform alone",
		"-detector self -webhook off":  "nothing could arrive",
		"-detector self -mode magic":   `-mode "magic"`,
		"-detector self -interval 1ms": "-interval 1ms",
		"-detector self -nodes 11":     "-nodes 11",
		"-detector self -store redis://me:pw@h:x":                     "-store is not allowed: want redis://[user:password@]host:port",
		"-detector self -store disk":                                  "-store",
		"-detector self -nodes 2 -store memory":                       "-store memory",
		"-detector self -signature hmac-sha1:X:hex":                   "-signature",
		"-on mastodon -server ftp://h":                                "-server is not allowed: want https://",
		"-on mastodon -server https://h -visibility odd":              `-visibility "odd" is not allowed: want unlisted or public`,
		"-post {text} -gap 1ms":                                       "-gap 1ms is not allowed: want 1s or more",
		"-post nothing":                                               "-post is not allowed: want a command with {text}",
		"-burst 5":                                                    "-burst is not allowed without -arrivals bursts",
		"-arrivals poisson -burst 5":                                  "-burst is not allowed without -arrivals bursts",
		"-gap 5s":                                                     "-gap is not allowed without -post",
		"-visibility public":                                          "-visibility is not allowed without -on mastodon",
		"-on bluesky -server https://x -visibility public":            "-visibility is not allowed without -on mastodon",
		"-post {text} -server https://x":                              "-server is not allowed with -post",
		"-websocket-hello x":                                          "-websocket-hello is not allowed without -websocket",
		"-websocket-header a:b":                                       "-websocket-header is not allowed without -websocket",
		"-signature hmac-sha256:X:hex -webhook off -websocket ws://x": "-signature is not allowed with -webhook off",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if err == nil || !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want a usage error with %s", line, err, want)
		}
	}
}

func TestDefaultsDependOnThePlatform(t *testing.T) {
	for line, want := range map[string]string{
		"":                               "300 posts, 2 a second",
		"-post {text}":                   "30 posts, 0.05 a second",
		"-on mastodon -server https://x": "30 posts, 0.05 a second",
		"-posts 7 -rate 3 -post {text}":  "7 posts, 3 a second",
		"-detector self -websocket self": "300 posts, 2 a second",
	} {
		o, err := parse(strings.Fields(line), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if got := fmt.Sprintf("%d posts, %v a second", o.plan.posts, o.plan.rate); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestHelp(t *testing.T) {
	var out strings.Builder
	if _, err := parse([]string{"-h"}, &out); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "-receipts") || !strings.Contains(out.String(), "docs/latency-benchmark.md") {
		t.Errorf("%v: %s", err, &out)
	}
}

// A record goes to strangers.
func TestSettingsHoldNoSecrets(t *testing.T) {
	o, err := parse([]string{"-post", "curl -H token:tell-nobody {text}", "-websocket", "wss://x/stream?key=tell-nobody", "-websocket-header", "key: tell-nobody",
		"-websocket-hello", "tell-nobody", "-key", "tell-nobody", "-seed", "7"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(o.settings); strings.Contains(text, "tell-nobody") || !strings.Contains(text, "seed:7") || !strings.Contains(text, "websocket:wss://x/stream ") {
		t.Errorf("settings %s", text)
	}
	for address, want := range map[string]string{
		"wss://me:tell-nobody@x:444/stream": "websocket:wss://x:444/stream ", "ws://tell-nobody@x?a=b": "websocket:ws://x ",
		"wss://x/stream#tell-nobody": "websocket:wss://x/stream ", "wss://me:tell-nobody@x/a@b": "websocket:wss://x/a@b ",
	} {
		o, err := parse([]string{"-websocket", address}, io.Discard)
		if text := fmt.Sprint(o.settings); err != nil || strings.Contains(text, "tell-nobody") || !strings.Contains(text, want) {
			t.Errorf("%s: %v, settings %s; want %s", address, err, text, want)
		}
	}
	o, err = parse([]string{"-detector", "self", "-store", "redis://:tell-nobody@host"}, io.Discard)
	if text := fmt.Sprint(o.settings); err != nil || strings.Contains(text, "tell-nobody") || !strings.Contains(text, "store:redis ") {
		t.Errorf("%v, settings %s", err, text)
	}
}

func TestHeaderVariables(t *testing.T) {
	_, err := headers{"x-api-key: $MY_KEY"}.expand(func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), "MY_KEY is not set") {
		t.Errorf("error %v, want one that names the variable", err)
	}
}

func TestSchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.tsv")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	recording := arrivals.Generate(arrivals.Config{Seed: 1, Accounts: 5, Duration: 100 * time.Hour, PerDay: 24})
	if err := errors.Join(arrivals.Write(f, recording), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		plan     plan
		limits   poster.Limits
		min, max int // posts
		within   time.Duration
		together int // most posts of one moment
	}{
		{"Poisson", plan{kind: "poisson", rate: 10, posts: 10_000, within: 100 * time.Second, accounts: 3}, poster.Limits{}, 900, 1100, 100 * time.Second, 1},
		{"as many as asked", plan{kind: "poisson", rate: 10, posts: 50, within: time.Hour, accounts: 3}, poster.Limits{}, 50, 50, time.Minute, 1},
		{"bursts", plan{kind: "bursts", rate: 10, burst: 20, posts: 10_000, within: 100 * time.Second, accounts: 3}, poster.Limits{}, 700, 1300, 100 * time.Second, 20},
		{"a gap", plan{kind: "bursts", rate: 10, burst: 20, posts: 10_000, within: 100 * time.Second, accounts: 1}, poster.Limits{Gap: 5 * time.Second}, 15, 20, 100 * time.Second, 1},
		{"a recording, an hour a second", plan{kind: file, rate: 3600, posts: 10_000, within: time.Hour, accounts: 3}, poster.Limits{}, 350, 650, 100 * time.Second, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := tc.plan.schedule(tc.limits)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(list); n < tc.min || n > tc.max || list[n-1].at > tc.within {
				t.Errorf("%d posts within %s, want %d to %d within %s", n, list[n-1].at, tc.min, tc.max, tc.within)
			}
			moments, used := map[time.Duration]int{}, map[int]bool{}
			for i, d := range list {
				moments[d.at]++
				used[d.account] = true
				if moments[d.at] > tc.together || d.account < 0 || d.account >= tc.plan.accounts || i > 0 && d.at-list[i-1].at < tc.limits.Gap {
					t.Fatalf("post %d is due at %s by account %d, after one at %s", i, d.at, d.account, list[max(0, i-1)].at)
				}
			}
			if len(used) != tc.plan.accounts {
				t.Errorf("%d accounts post, want %d", len(used), tc.plan.accounts)
			}
			again, err := tc.plan.schedule(tc.limits)
			if err != nil || fmt.Sprint(again) != fmt.Sprint(list) {
				t.Errorf("the same seed gives another schedule (%v)", err)
			}
		})
	}
	if _, err := (plan{kind: "poisson", rate: 0.001, posts: 9, within: time.Millisecond, accounts: 1}).schedule(poster.Limits{}); err == nil {
		t.Error("no error for a schedule without posts")
	}
	if _, err := (plan{kind: "no such file", rate: 1, posts: 9, within: time.Hour, accounts: 1}).schedule(poster.Limits{}); err == nil || !strings.Contains(err.Error(), "-arrivals") {
		t.Errorf("error %v, want one that names the flag", err)
	}
}

func TestSigningKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.key")
	first, err := signingKey(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := signingKey(path)
	if err != nil || !first.Equal(second) {
		t.Errorf("the key of the file is another the second time (%v)", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the key: %v, %v", info.Mode(), err)
	}
	own, err := signingKey("")
	if err != nil || own.Equal(first) {
		t.Errorf("the key of a run is not its own (%v)", err)
	}
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signingKey(path); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
		t.Errorf("error %v for a file that is no key", err)
	}
}
