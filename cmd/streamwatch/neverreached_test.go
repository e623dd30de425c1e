package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
)

const awayRedis = "redis://me:pw-secret@127.0.0.1:1/2"

// A server that is told to stop while its store does not answer has nothing to lose: it
// ends as any other does, and says which store that was.
func TestStopBeforeTheStoreAnswers(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var logs heard.Output
	logs.On("redis does not answer", stop)
	err := run(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, strings.Fields("serve -platform https://mastodon.example -addr 127.0.0.1:0 -db "+awayRedis))
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
	if text := logs.String(); !strings.Contains(text, `msg="stopped: the store was never reached" store="Redis, redis://***@127.0.0.1:1/2"`) || strings.Contains(text, "pw-secret") {
		t.Errorf("log %s", text)
	}
}

// A command that is stopped so has not done what it was asked for.
func TestCommandStoppedBeforeTheStoreAnswers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range []string{"keys -owner a", "revoke -owner a -id k", "credits -owner a -credits 5", "erase -owner a"} {
		var out bytes.Buffer
		err := run(ctx, process{Env: noEnv, Out: &out, Logs: io.Discard}, strings.Fields(args+" -db "+awayRedis))
		if status(err) != 1 || err.Error() != "the store was never reached: redis://***@127.0.0.1:1/2: context canceled" || out.Len() > 0 {
			t.Errorf("%s: status %d, error %v, output %q", args, status(err), err, &out)
		}
	}
}
