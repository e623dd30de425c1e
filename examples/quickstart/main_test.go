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
		"":                            "",
		"-posts 10 -accounts 2 -json": "",
		"-interval 1s":                "",
		"-push -probe -ui":            "",
		"-posts 0":                    "-posts 0 is not allowed: want 1 to 100000",
		"-accounts 20000":             "-accounts 20000",
		"-interval 1ms":               "-interval 1ms is not allowed: want 50ms to 10s",
		"-interval 1m":                "-interval 1m0s is not allowed: want 50ms to 10s",
		"stray":                       `argument "stray"`,
		"-nonsense":                   "-nonsense",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-posts") {
		t.Errorf("-h: %v, %q", err, help.String())
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
