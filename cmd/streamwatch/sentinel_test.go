package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// An address names Sentinels, the master that they watch, and who asks them and it.
func TestSentinelOptions(t *testing.T) {
	o, err := redisOptions("rediss://watch:watch-pw@a:26379/3?master_name=mymaster&addr=b:26380&addr=c:26381&username=app&password=app-pw&disableIdentity=true&identitySuffix=x")
	if err != nil {
		t.Fatal(err)
	}
	if o.MasterName != "mymaster" || !slices.Equal(o.Addrs, []string{"a:26379", "b:26380", "c:26381"}) || o.IsClusterMode || o.DB != 3 ||
		o.SentinelUsername != "watch" || o.SentinelPassword != "watch-pw" || o.Username != "app" || o.Password != "app-pw" || !o.DisableIdentity || o.IdentitySuffix != "x" {
		t.Errorf("%+v", o)
	}
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "" {
		t.Errorf("TLS %+v, want each server checked by its own name", o.TLSConfig)
	}
	for raw, want := range map[string]string{
		"redis://h:26379?master_name=":                     "want redis://[user:password@]host:port[/database]?master_name=NAME",
		"redis://me:pw@h?master_name=m":                    "redis://***@h?master_name=*** is not allowed: want redis://[user:password@]host:port",
		"redis://h:26379?master_name=m&addr=i":             "want redis://[user:password@]host:port",
		"redis://h:26379/x?master_name=m&password=pw":      "/x?master_name=***&password=*** is not allowed",
		"redis://h:26379?master_name=m&secret=pw":          "want redis://",
		"http://h:26379?master_name=m&password=pw":         "want redis://",
		"redis://h:26379?master_name=m&replica_only=true":  "want it without replica_only, which is the store's to decide",
		"redis://h:1?max_retries=5":                        "want it without max_retries",
		"redis://h:1?addr=i:2&read_only=true":              "want it without read_only",
		"redis://h:26379?master_name=m&master_name=n&x=pw": "is not allowed",
	} {
		_, err := redisOptions(raw)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: error %v, want %q and no password", raw, err, want)
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
	for _, args := range []string{"key -owner acme -name laptop", "keys -owner acme"} {
		var out bytes.Buffer
		err := run(t.Context(), process{noEnv, &out, io.Discard}, append(strings.Fields(args), "-redis", address))
		if err != nil || strings.Contains(args, "keys") && !strings.Contains(out.String(), "laptop") || strings.Contains(out.String(), "-pw") {
			t.Errorf("%s: %v, %s", args, err, &out)
		}
	}
	if keys := master.Keys(); len(keys) == 0 {
		t.Error("the master has no keys: want the store there")
	}
	var out bytes.Buffer
	if err := run(t.Context(), process{noEnv, &out, io.Discard}, []string{"check", "-platform", "bluesky", "-redis", address}); err != nil ||
		!strings.Contains(out.String(), "Redis, redis://***@"+sentinel.Addr()+"?master_name=***&password=***") || strings.Contains(out.String(), "-pw") {
		t.Errorf("check: %v\n%s", err, &out)
	}
}
