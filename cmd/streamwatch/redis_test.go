package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A server on a Redis is a node of a fleet, and with -passive a passive one.
func TestPassive(t *testing.T) {
	for _, passive := range []bool{false, true} {
		c, err := configured(t, "db: redis://h\nsources: [{name: f, kind: fake}]", fmt.Sprintf("-passive=%t", passive))
		if err != nil {
			t.Fatal(err)
		}
		store := memory.New(memory.Options{})
		s, err := newService(c, store, "", nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		st, err := store.Ports().Members.Look(t.Context())
		if err != nil || len(st.Members) != 1 || st.Members[0].Node.Passive() != passive {
			t.Errorf("passive %t: members %+v, %v", passive, st.Members, err)
		}
		if err := s.engine.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// The commands find the master through a Sentinel, each with the password of its own.
func TestSentinelNamesTheMaster(t *testing.T) {
	master, sentinel := miniredis.RunT(t), miniredis.RunT(t)
	master.RequireAuth("master-pw")
	sentinel.RequireAuth("sentinel-pw")
	answer := func(m *miniredis.Miniredis, command string, reply func(p *server.Peer, args []string)) {
		if err := m.Server().Register(command, func(p *server.Peer, _ string, args []string) { reply(p, args) }); err != nil {
			t.Fatal(err)
		}
	}
	answer(master, "CONFIG", func(p *server.Peer, _ []string) { p.WriteStrings([]string{"maxmemory-policy", "noeviction"}) })
	answer(sentinel, "SENTINEL", func(p *server.Peer, args []string) {
		switch {
		case len(args) == 2 && strings.EqualFold(args[0], "get-master-addr-by-name") && args[1] == "mymaster":
			p.WriteStrings([]string{master.Host(), master.Port()})
		case len(args) == 2 && strings.EqualFold(args[0], "sentinels"):
			p.WriteLen(0)
		default:
			p.WriteNull()
		}
	})
	address := "redis://:sentinel-pw@" + sentinel.Addr() + "?master_name=mymaster&password=master-pw"
	for _, args := range []string{"key -owner acme -name laptop", "keys -owner acme", "check -platform bluesky"} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: noEnv, Out: &out, Logs: io.Discard}, append(strings.Fields(args), "-db", address))
		want := map[string]string{"keys": "laptop", "chec": "Redis, redis://***@" + sentinel.Addr() + "?master_name=***&password=***"}[args[:4]]
		if err != nil || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "-pw") {
			t.Errorf("%s: %v, %s", args, err, &out)
		}
	}
	if keys := master.Keys(); len(keys) == 0 {
		t.Error("the master has no keys: want the store there")
	}
}

// While the server is away the client library has something to say for each attempt. It
// says it in the log, to who asks for debug, and not on stderr.
func TestRedisClientLogsToTheLog(t *testing.T) {
	for level, until := range map[string]string{"debug": `"msg":"redis client"`, "info": "redis does not answer"} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		var logs heard.Output
		logs.On(until, cancel)
		path := written(t, "platform: https://mastodon.example\naddr: 127.0.0.1:0\nlog: json\ndb: redis://127.0.0.1:1\nlog-level: "+level)
		err := run(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, []string{"serve", "-config", path})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(logs.String(), `"msg":"redis client"`); got != (level == "debug") {
			t.Errorf("log-level %s: lines of the client %t: %s", level, got, &logs)
		}
	}
}
