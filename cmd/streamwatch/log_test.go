package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	stdlog "log"
	"os"
	"strings"
	"testing"
	"time"
)

// Durations are for people, in both formats and at every depth.
func TestLogHasDurationsAsText(t *testing.T) {
	for format, want := range map[string]string{
		"json": `"source":"a","every":"1m0s","poll":{"wait":"1.5s","calls":3}}`,
		"text": `source=a every=1m0s poll.wait=1.5s poll.calls=3`,
	} {
		var out bytes.Buffer
		logger(config{Log: format}, &out).With("source", "a", "every", time.Minute).WithGroup("poll").Info("late", "wait", 1500*time.Millisecond, "calls", 3)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, &out, want)
		}
	}
}

// What net/http tells package log is JSON, too, and so is the error by which serve ends.
func TestLogIsAllJSON(t *testing.T) {
	defer stdlog.SetFlags(stdlog.Flags())
	defer stdlog.SetOutput(os.Stderr)
	var out bytes.Buffer
	takeStandardLog(logger(config{Log: "json"}, &out))
	stdlog.Print("Unsolicited response received on idle HTTP channel")
	stdlog.Print("http: TLS handshake error from 192.0.2.1:1: EOF") // of a port scanner
	err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: &out}, strings.Fields("serve -log json -platform nowhere"))
	if status(err) != 78 || !errors.As(err, new(logged)) {
		t.Errorf("status %d, error %v, want one that is logged", status(err), err)
	}
	for i, want := range []string{"Unsolicited response", "streamwatch ends"} {
		line, _, _ := strings.Cut(strings.Join(strings.Split(out.String(), "\n")[i:], "\n"), "\n")
		var entry struct{ Msg, Error string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || !strings.HasPrefix(entry.Msg, want) || i == 1 && !strings.Contains(entry.Error, `-platform "nowhere" is not allowed`) {
			t.Errorf("line %q, %v: want %s", line, err, want)
		}
	}
}
