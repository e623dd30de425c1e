package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// answers replaces a server's reply to a command.
func answers(m *miniredis.Miniredis, command string, reply func(*mini.Peer)) {
	m.Server().SetPreHook(func(p *mini.Peer, cmd string, _ ...string) bool {
		if cmd != command {
			return false
		}
		reply(p)
		return true
	})
}

func policy(name string) func(*mini.Peer) {
	return func(p *mini.Peer) { p.WriteStrings([]string{"maxmemory-policy", name}) }
}

func hello(version string) func(*mini.Peer) {
	return func(p *mini.Peer) {
		p.WriteMapLen(1)
		p.WriteBulk("version")
		p.WriteBulk(version)
	}
}

func TestOpenLooksAtTheServer(t *testing.T) {
	allow := redisstore.Options{AllowEviction: true}
	for _, row := range []struct {
		name    string
		command string
		reply   func(*mini.Peer)
		opts    redisstore.Options
		want    error
		says    string
	}{
		{"noeviction", "CONFIG", policy("noeviction"), redisstore.Options{}, nil, ""},
		{"another policy", "CONFIG", policy("volatile-lru"), redisstore.Options{}, redisstore.ErrEviction, `"volatile-lru" is not allowed: set "maxmemory-policy noeviction"`},
		{"another policy that is allowed", "CONFIG", policy("allkeys-lru"), allow, nil, ""},
		{"noeviction in INFO, where CONFIG is refused", "INFO", func(p *mini.Peer) {
			p.WriteBulk("# Memory\r\nused_memory:1\r\nmaxmemory_policy:noeviction\r\n")
		}, redisstore.Options{}, nil, ""},
		{"another policy in INFO", "INFO", func(p *mini.Peer) { p.WriteBulk("maxmemory_policy:allkeys-lfu\r\n") }, redisstore.Options{}, redisstore.ErrEviction, "allkeys-lfu"},
		{"one that does not say", "PING", nil, redisstore.Options{}, redisstore.ErrEviction, "Options.AllowEviction"},
		{"one that does not say, allowed", "PING", nil, allow, nil, ""},
		{"the oldest version", "HELLO", hello("7.0.0"), allow, nil, ""},
		{"an older version", "HELLO", hello("6.2.14"), allow, redisstore.ErrServer, `"6.2.14", want 7.0 or newer`},
		{"a version that is no number", "HELLO", hello("unstable"), allow, redisstore.ErrServer, "unstable"},
		{"a version before HELLO", "HELLO", func(p *mini.Peer) { p.WriteError("ERR unknown command 'HELLO'") }, allow, redisstore.ErrServer, "want 7.0 or newer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := miniredis.RunT(t)
			answers(server, row.command, row.reply)
			s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, row.opts)
			wantErr(t, err, row.want)
			if err == nil {
				must(t, s.Close(context.Background()))
				return
			}
			if !strings.Contains(err.Error(), row.says) {
				t.Errorf("error %q does not say %q", err, row.says)
			}
			want(t, "keys made by a store that was refused", len(server.Keys()), 0)
		})
	}
}

func TestOpenLooksAtTheData(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(*miniredis.Miniredis)
		want error
	}{
		{"none", func(*miniredis.Miniredis) {}, nil},
		{"of this version", func(m *miniredis.Miniredis) { m.Set("{x}:version", "streamwatch 4") }, nil},
		{"of an older version", func(m *miniredis.Miniredis) { m.Set("{x}:version", "streamwatch 3") }, redisstore.ErrVersion},
		{"of a newer version", func(m *miniredis.Miniredis) { m.Set("{x}:version", "streamwatch 5") }, redisstore.ErrVersion},
		{"of another program", func(m *miniredis.Miniredis) { m.Set("{x}:version", "1.0.3") }, redisstore.ErrForeign},
		{"of another type", func(m *miniredis.Miniredis) { m.HSet("{x}:version", "a", "b") }, redisstore.ErrForeign},
		{"of another store", func(m *miniredis.Miniredis) { m.Set("{y}:version", "streamwatch 4") }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := miniredis.RunT(t)
			row.make(server)
			before := server.Dump()
			s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{server.Addr()}}, redisstore.Options{Name: "x", AllowEviction: true})
			wantErr(t, err, row.want)
			if err == nil {
				must(t, s.Close(context.Background()))
			} else {
				want(t, "data after a refusal", server.Dump(), before)
			}
		})
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	to := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}
	for _, name := range []string{"{", "}", "a{b}c"} {
		if _, err := redisstore.Open(t.Context(), to, redisstore.Options{Name: name}); err == nil || !strings.Contains(err.Error(), "Options.Name") {
			t.Errorf("Open with the name %q: %v", name, err)
		}
	}
	if _, err := redisstore.Open(t.Context(), nil, redisstore.Options{}); err == nil {
		t.Error("Open without options of the client succeeded")
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := redisstore.Open(ctx, &redis.UniversalOptions{Addrs: []string{miniredis.RunT(t).Addr()}}, redisstore.Options{})
	wantErr(t, err, context.Canceled)
}

func TestOpenGivesUpAfterRetryFor(t *testing.T) {
	_, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, redisstore.Options{RetryFor: 20 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Open where nobody listens: %v", err)
	}
}

// Open ignores the caller's options about retries and replicas, and does not change them.
func TestOpenLeavesTheOptionsAlone(t *testing.T) {
	to := &redis.UniversalOptions{Addrs: []string{miniredis.RunT(t).Addr()}, MaxRetries: 7, RouteRandomly: true}
	openBy(t, to, redisstore.Options{})
	want(t, "MaxRetries", to.MaxRetries, 7)
	want(t, "RouteRandomly", to.RouteRandomly, true)
	want(t, "ContextTimeoutEnabled", to.ContextTimeoutEnabled, false)
}
