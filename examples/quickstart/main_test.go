package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "",
		"-posts 10 -accounts 2 -json":   "",
		"-interval 1s":                  "",
		"-mastodon https://h/@a -since": "",
		"-mastodon https://h/@a,https://h/@b -token t -webhook https://x -secret s": "",
		"-bluesky a.b -pds https://p -for 5s":                                       "",
		"-posts 0":                                                                  "-posts 0 is not allowed: want 1 to 100000",
		"-accounts 20000":                                                           "-accounts 20000",
		"-interval 1ms":                                                             "-interval 1ms is not allowed: want 50ms to 10s",
		"-interval 1m":                                                              "want 50ms to 10s for the demonstration",
		"-mastodon https://h/@a -interval 1s":                                       "want 5s to 1h0m0s for real accounts",
		"-since":                                                                    "-since \"true\" is not allowed: it needs real accounts",
		"-webhook https://x":                                                        "it needs real accounts",
		"-mastodon https://h/@a -secret x":                                          "-secret *** is not allowed: it needs -webhook",
		"-mastodon https://h/@a -posts 5":                                           "it needs the demonstration",
		"-mastodon https://h/@a -bluesky-host x":                                    "it needs -bluesky",
		"-bluesky a -pds https://p -bluesky-host x":                                 "one of -pds and -bluesky-host",
		"-mastodon ,":                                                               "it is empty",
		"-for -1s -bluesky a":                                                       "-for -1s",
		"stray":                                                                     `argument "stray"`,
		"-nonsense":                                                                 "-nonsense",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-mastodon") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

func TestOpenRefusesWhatIsNoAccount(t *testing.T) {
	for _, url := range []string{"foo", "https://h/user", "https://h/@", "https://h/@a/b", "ftp://h/@a", "https://me:pw@h/@a"} {
		if _, err := open(options{mastodon: list{url}}); err == nil || !strings.Contains(err.Error(), "want https://host/@user") {
			t.Errorf("%s: %v", url, err)
		}
	}
	all, err := open(options{mastodon: list{"https://h/@a", "https://h/@A", "https://i/@a"}, bluesky: list{"@x.bsky.social"}})
	if err != nil || strings.Join(all.names, " ") != "a@h a@i x.bsky.social" {
		t.Errorf("%v, %v: each account once, with its host", all, err)
	}
}

func TestSummaryEndsWithOneJSONObject(t *testing.T) {
	lines := &ticker{w: io.Discard}
	for ms := 1; ms <= 100; ms++ {
		lines.detected(deliver.Event{Latency: time.Duration(ms) * time.Millisecond, TextPreview: "a\x1b[31mb\nc"})
	}
	var out bytes.Buffer
	(&summary{Posted: 100, Latency: lines.latencies()}).print(&out, true)
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(all[len(all)-1]), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"posted", "detected", "delivered", "verified", "lost", "duplicated", "latency_ms"} {
		if _, ok := got[key]; !ok {
			t.Errorf("the object lacks %s", key)
		}
	}
	if l := got["latency_ms"].(map[string]any); l["p50"] != 50.0 || l["p95"] != 95.0 || l["p99"] != 99.0 || l["max"] != 100.0 {
		t.Errorf("latencies %v", l)
	}
	if s := oneLine("a\x1b[31mb\nc", 20); s != `"a [31mb c"` {
		t.Errorf("oneLine = %s: control characters must not reach the terminal", s)
	}
}
