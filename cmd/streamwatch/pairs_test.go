package main

import (
	"context"
	"io"
	"strings"
	"testing"
)

// A value that another one would have passed over is refused, and both are named. Defaults
// pass nothing over.
func TestNoFlagIsPassedOver(t *testing.T) {
	const redis = "redis://127.0.0.1:1"
	ended, cancel := context.WithCancel(t.Context()) // for what is not refused
	cancel()
	for _, tc := range []struct {
		args, file string
		env        map[string]string
		want       string // "" for none
	}{
		{args: "serve -platform bluesky -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "check -platform bluesky -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "serve -platform bluesky -db a.db", file: "redis: " + redis, want: "-db is not allowed with FILE:1: redis: want one of them"},
		{args: "serve -platform bluesky -redis " + redis, file: "log: text\ndb: a.db", want: "FILE:2: db is not allowed with -redis: want one of them"},
		{args: "serve -platform bluesky", file: "db: a.db\nredis-env: R", env: map[string]string{"R": redis}, want: "FILE:1: db is not allowed with FILE:2: redis-env: want one of them"},
		{args: "serve -platform bluesky", file: "db: a.db\nredis-env: NOT_SET", want: "FILE:1: db is not allowed with FILE:2: redis-env: want one of them"},
		{args: "serve -platform bluesky -db a.db", env: map[string]string{"STREAMWATCH_REDIS": redis}, want: "-db is not allowed with STREAMWATCH_REDIS: want one of them"},
		{args: "check -platform bluesky -redis " + redis},
		{args: "check -platform bluesky -db a.db", env: map[string]string{"STREAMWATCH_REDIS": ""}},
		{args: "check -platform bluesky -redis " + redis, env: map[string]string{"STREAMWATCH_DB": ""}},
		{args: "key -owner a -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "keys -owner a -redis " + redis, env: map[string]string{"STREAMWATCH_DB": "a.db"}, want: "STREAMWATCH_DB is not allowed with -redis: want one of them"},
		{args: "credits -owner a -credits 5 -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "revoke -owner a -id k -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "erase -owner a -db a.db -redis " + redis, want: "-db is not allowed with -redis: want one of them"},
		{args: "erase -owner a", file: "db: a.db\nredis: " + redis, want: "-config FILE: db is not allowed with redis: want one of them"},
		{args: "erase -owner a", file: "db: a.db\nredis-env: R", env: map[string]string{"R": redis}, want: "-config FILE: db is not allowed with redis-env: want one of them"},
		{args: "erase -owner a", file: "redis: " + redis + "\nredis-env: R", want: "-config FILE: redis is not allowed with redis-env: want one of them"},
		{args: "serve -platform bluesky", file: "redis: " + redis + "\nredis-env: R", env: map[string]string{"R": redis}, want: "FILE:2: redis-env is not allowed with FILE:1: redis: want one of them"},
		{args: "serve -platform bluesky", file: "redis-env: R\nredis: " + redis, env: map[string]string{"R": redis}, want: "FILE:2: redis is not allowed with FILE:1: redis-env: want one of them"},
		{args: "serve -demo -db a.db", want: "-db is not allowed with -demo: its file is removed at the end"},
		{args: "serve -platform bluesky", env: map[string]string{"STREAMWATCH_TOKEN": "t"}, want: "STREAMWATCH_TOKEN is not allowed: it needs -platform with the URL of a Mastodon server"},
		{args: "serve -demo", env: map[string]string{"STREAMWATCH_TOKEN": "t"}, want: "STREAMWATCH_TOKEN is not allowed"},
		{args: "serve -source f=fake", file: "token-env: T", env: map[string]string{"T": "t"}, want: "FILE:1: token-env is not allowed"},
		{args: "serve -source f=fake", file: "token-env: NOT_SET", want: "FILE:1: token-env is not allowed"},
		{args: "check -platform https://m.example", env: map[string]string{"STREAMWATCH_TOKEN": "t"}},
		{args: "serve -source x=x,token=T,rules=5", env: map[string]string{"T": "t"}, want: "-source x: rules with a value is not allowed: want rules alone"},
		{args: "serve -source f=feed,contact", want: `-source f: contact is empty: want contact=ADDRESS`},
		{args: "serve -source f=feed,memory=", want: `-source f: memory is empty: want memory=DIRECTORY`},
		{args: "watch feed:https://h.example/f -appview https://a.example", want: `-appview "https://a.example" is not allowed: it needs an account bluesky:…`},
		{args: "watch bluesky:bsky.app -allow-private", want: "-allow-private is not allowed: it needs an account feed:…"},
	} {
		t.Chdir(t.TempDir()) // for who makes the file all the same
		args, want := strings.Fields(tc.args), tc.want
		if tc.file != "" {
			path := written(t, tc.file)
			args, want = append(args, "-config", path), strings.ReplaceAll(want, "FILE", path)
		}
		env := func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok }
		err := run(ended, process{env, io.Discard, io.Discard}, args)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || status(err) != 78) {
			t.Errorf("%s, file %q, environment %v: status %d, error %v, want %q", tc.args, tc.file, tc.env, status(err), err, want)
		}
	}
}

// What the demonstration has for defaults may be given otherwise.
func TestDemoTakesWhatIsGiven(t *testing.T) {
	for args, want := range map[string][2]bool{"-demo": {true, true}, "-demo -metrics=false": {false, true}, "-demo -allow-private=false": {true, false}} {
		c, err := parseServe(process{env: noEnv, out: io.Discard}, strings.Fields(args))
		if got := [2]bool{c.metrics, c.allowPrivate}; err != nil || got != want {
			t.Errorf("%s: -metrics and -allow-private %v, %v, want %v", args, got, err, want)
		}
	}
}
