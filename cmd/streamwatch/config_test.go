package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/secret"
)

// fileEnv has the variables that the files of the tests name.
func fileEnv(name string) (string, bool) {
	v, ok := map[string]string{
		"REDIS_URL": "redis://me:pw-secret@h:1/2", "SEAL": oldSealKey, "TOKEN": "tok-secret", "PW": "pw-secret", "EMPTY": "",
		"LINES": "a\nb", "HUB": strings.Repeat("0123456789abcdef", 4),
	}[name]
	return v, ok
}

// written is a configuration file with that text.
func written(t testing.TB, text string) string {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// configured reads the configuration of serve from a file with that text, and flags.
func configured(t testing.TB, text string, args ...string) (config, error) {
	return serveConfig(t, fileEnv, append(args, "-config", written(t, text))...)
}

// serveConfig reads the configuration of serve.
func serveConfig(t testing.TB, env func(string) (string, bool), args ...string) (c config, err error) {
	g := command.Program{Prefix: program.Prefix, Groups: []command.Group{{Commands: []command.Command{{Name: "serve", Define: func(f *command.Flags) command.Run {
		serveFlags(f)
		return func(_ context.Context, p process) error {
			c, err = readServe(p, f)
			return err
		}
	}}}}}}
	err = g.Run(t.Context(), process{Env: env, Out: io.Discard}, append([]string{"serve"}, args...))
	return c, err
}

const wholeFile = `# a comment
addr: 0.0.0.0:8080
db: ${REDIS_URL}
seal-key: ${SEAL}
drain: ${NOT_SET:-5s}
stop-time: 30s
origins: [https://a.example, "http://[::1]:3000"]
limits: {rules: 5}
log-level: warn
sources:
  - {name: bsky, kind: bluesky, probe: 0.5, stream: true, stream-url: wss://j.example/subscribe, calls: 5, burst: 1500}
  - name: masto
    kind: mastodon
    url: https://masto.example
    token: ${TOKEN}
    stream: true
`

// Flags go before the environment, and that before the file; each value knows where it is
// from.
func TestConfig(t *testing.T) {
	path := written(t, wholeFile)
	env := func(name string) (string, bool) {
		if v, ok := map[string]string{"STREAMWATCH_CONFIG": path, "STREAMWATCH_LOG": "json", "STREAMWATCH_ADDR": ":2", "STREAMWATCH_DB": ""}[name]; ok {
			return v, true
		}
		return fileEnv(name)
	}
	c, err := serveConfig(t, env, "-addr", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:1" || c.Log != "json" || c.StopTime != 30*time.Second || c.Drain != 5*time.Second || c.Limits.quotas().Rules != 5 || c.Segment != "social" ||
		c.DB != "redis://me:pw-secret@h:1/2" || c.SealKey != oldSealKey || !slices.Equal(c.Origins, []string{"https://a.example", "http://[::1]:3000"}) || c.LogLevel != slog.LevelWarn {
		t.Errorf("%+v", c)
	}
	want := []source{
		{Name: "bsky", Kind: "bluesky", Probe: 0.5, Stream: true, StreamAt: "wss://j.example/subscribe", Calls: 5, Burst: 1500},
		{Name: "masto", Kind: "mastodon", URL: "https://masto.example", Token: secret.Value("tok-secret"), Stream: true},
	}
	if !slices.Equal(c.Sources, want) {
		t.Errorf("sources %+v, want %+v", c.Sources, want)
	}
	for key, want := range map[string]string{
		"addr": "-addr", "log": "STREAMWATCH_LOG", "drain": path + ":5: drain", "seal-key": path + ":4: seal-key", "db": path + ":3: db",
		"limits.rules": path + ":8: limits.rules", "interval": "", "sources[1].token": path + ":15: sources[1].token",
	} {
		if c.from[key] != want {
			t.Errorf("%s is from %q, want %q", key, c.from[key], want)
		}
	}
}

// refusals are files that are refused, with what the error says after the file's name.
var refusals = map[string]string{
	"address: x":        `:1: "address" is not allowed: the nearest key is "addr"`,
	"limits: {rule: 5}": `:1: limits."rule" is not allowed: the nearest key is "rules"`,
	"sources: [{name: a, kind: fake, cals: 5}]": `:1: sources[0]."cals" is not allowed: the nearest key is "calls"`,
	"demo: perhaps":                                                   `:1: demo "perhaps" is not allowed: want true or false`,
	"demo: true\ndrain: 5 minutes":                                    `:2: drain "5 minutes" is not allowed: want a duration such as 1m30s`,
	"demo: true\nkeyless: many":                                       `:2: keyless "many" is not allowed: want a whole number`,
	"demo: true\nlog-level: loud":                                     `:2: log-level "loud" is not allowed: want debug, info, warn or error`,
	"sources:\n- name: a\n  kind: fake\n  calls: ${TOKEN}":            `:4: sources[0].calls "${TOKEN}" is not allowed: want a number`,
	"demo: true\nnode:":                                               `:2: "node" is not allowed`,
	"demo: true\nlog:":                                                ":2: log is empty: want a value, or no such line",
	"demo: true\naddr: [a]":                                           ":2: addr is not allowed: want a single value",
	"demo: true\norigins: a":                                          ":2: origins is not allowed: want a list",
	"demo: true\nlimits: 5":                                           ":2: limits is not allowed: want keys and values",
	"demo: &a true\nlog: *a":                                          ":2: log is not allowed: want a single value",
	"demo: true\ndemo: false":                                         ":2: demo is not allowed twice: see ",
	"- demo":                                                          ":1:  is not allowed: want keys and values, such as addr: 127.0.0.1:8080",
	"demo: true\n---\ndemo: true":                                     ": a second document is not allowed",
	"demo: true\n x: y":                                               " is not YAML: line 2: mapping values",
	"platform: bluesky\nlog: xml":                                     `:2: log "xml" is not allowed: want text or json`,
	"platform: nonsense":                                              `:1: platform "nonsense" is not allowed: want bluesky, or http`,
	"platform: https://u:${PW}@h":                                     `:1: platform "https://***@h" is not allowed`,
	"demo: true\naddr: nonsense":                                      `:2: addr "nonsense" is not allowed: want host:port`,
	"demo: true\nops-addr: '::1'":                                     `:2: ops-addr "::1" is not allowed: want host:port`,
	"demo: true\naddr: h:99999":                                       `:2: addr "h:99999" is not allowed: want host:port`,
	"demo: true\ntls-cert: a":                                         `:2: tls-cert "a" and tls-key "" are not allowed: want both or neither`,
	"demo: true\ndb: a.db":                                            ":2: db is not allowed with demo: its file is removed at the end",
	"demo: true\nseal-key: ${SEAL}":                                   ":2: seal-key is not allowed with demo",
	"demo: true\npassive: true":                                       ":2: passive is not allowed: want it with a db that servers share",
	"demo: true\ninterval: 100ms":                                     ":2: interval 100ms is not allowed: want 1s, see min-interval, to 24h0m0s",
	"demo: true\nmin-interval: 9ms":                                   ":2: min-interval 9ms is not allowed: want 100ms to",
	"demo: true\ndrain: 2m":                                           ":2: drain 2m0s is not allowed: want 0s to 1m",
	"demo: true\nstop-time: 0s":                                       ":2: stop-time 0s is not allowed",
	"demo: true\nkeyless: 0":                                          ":2: keyless 0 is not allowed: want 1 to 1000000",
	"demo: true\nconnections: -1":                                     ":2: connections -1 is not allowed: want 1 to 10000, or 0 for no bound",
	"demo: true\norigins: [a]":                                        `:2: origins[0] is not allowed: enginehttp: origin "a" is not allowed: want a scheme`,
	"demo: true\nclient-address: a b":                                 `:2: client-address "a b" is not allowed: want the name of a header`,
	"demo: true\nlimits: {rules: -1}":                                 ":2: limits.rules -1 is not allowed: want 1 or more",
	"demo: true\nlimits: {websockets: 2000000}":                       ":2: limits.websockets 2000000 is not allowed",
	"platform: bluesky\ndb: redis://me:${PW}@h:99999":                 ":2: db redis://***@h:99999 is not allowed: want redis://",
	"sources: bluesky":                                                ":1: sources is not allowed: want a list",
	"sources: [bluesky]":                                              ":1: sources[0] is not allowed: want keys and values",
	"sources: []":                                                     ":1: sources is empty: want a source, or no such line",
	"sources: [{kind: fake}]":                                         `sources[0].name "" is not allowed: want 1 to 32`,
	"sources: [{name: a}]":                                            `sources[0].kind "" is not allowed: want bluesky, fake, feed, mastodon, remote, x`,
	"sources:\n- {name: A, kind: fake}":                               `:2: sources[0].name "A" is not allowed: want 1 to 32 lower-case letters`,
	"sources:\n- {name: did, kind: fake}":                             `:2: sources[0].name "did" is not allowed`,
	"sources:\n- {name: a, kind: fake}\n- {name: a, kind: fake}":      `:3: sources[1].name "a" is not allowed twice`,
	"sources:\n- {name: a, kind: blusky}":                             `:2: sources[0].kind "blusky" is not allowed: want bluesky, `,
	"sources:\n- {name: a, kind: x}":                                  ":2: sources[0] is not allowed: a source of the kind x wants token",
	"sources:\n- {name: a, kind: mastodon}":                           ":2: sources[0] is not allowed: a source of the kind mastodon wants url",
	"sources:\n- {name: a, kind: fake, pds: true}":                    ":2: sources[0].pds is not allowed: a source of the kind fake has name, kind, calls, burst, probe, stream",
	"sources:\n- {name: a, kind: feed, url: 'https://h/feed'}":        ":2: sources[0].url is not allowed: a source of the kind feed has ",
	"sources:\n- {name: a, kind: bluesky, calls: NaN}":                ":2: sources[0].calls NaN is not allowed",
	"sources:\n- {name: a, kind: bluesky, calls: 1e9}":                ":2: sources[0].calls 1e+09 is not allowed: want more than 0 and at most 1000000",
	"sources:\n- {name: a, kind: bluesky, probe: 0}":                  ":2: sources[0].probe 0 is not allowed",
	"sources:\n- {name: a, kind: bluesky, burst: 5}":                  ":2: sources[0].burst 5 is not allowed: want 1 to 1000000 calls, and calls",
	"sources:\n- {name: a, kind: x, token: '${TOKEN}', limit: -1}":    ":2: sources[0].limit -1 is not allowed",
	"sources:\n- {name: a, kind: feed, min-interval: 100ms}":          ":2: sources[0].min-interval 100ms is not allowed: want 1s to 24h0m0s",
	"sources:\n- {name: a, kind: bluesky, url: 'ftp://h'}":            `:2: sources[0].url "ftp://h" is not allowed: want http:// or https:// and a host`,
	"sources:\n- {name: a, kind: bluesky, url: 'https://me:${PW}@h'}": `:2: sources[0].url "https://***@h" is not allowed`,
	"sources:\n- {name: a, kind: bluesky, stream: true, stream-url: 'https://h'}":  `:2: sources[0].stream-url "https://h" is not allowed: want ws:// or wss://`,
	"sources:\n- {name: a, kind: bluesky, pds: true}":                              ":2: sources[0].pds is not allowed: want the url",
	"sources:\n- {name: a, kind: bluesky, url: 'https://h', pds: true, probe: 1}":  ":2: sources[0].pds is not allowed: want the url of the PDS, and no probe",
	"sources:\n- {name: a, kind: mastodon, url: 'https://h', stream: true}":        ":2: sources[0].stream is not allowed: want the token",
	"sources:\n- {name: a, kind: bluesky, visibility: private}":                    ":2: sources[0].visibility is not allowed: a source of the kind bluesky has ",
	"sources:\n- {name: a, kind: feed, callback: 'https://h.example/websub'}":      ":2: sources[0] is not allowed: want both callback and secret",
	"sources:\n- {name: a, kind: feed, callback: 'http://h.example', secret: '1'}": `:2: sources[0].callback "http://h.example" is not allowed: want https://`,
	"drain: 5m\nstop-time: 0s\nsources: [{name: a, kind: b}]":                      ":1: drain 5m0s is not allowed: want 0s to 1m",
}

// What is not allowed is told with its file, line, key and value, and what is allowed; all of it
// at once, and no secret.
func TestConfigIsRefused(t *testing.T) {
	for text, want := range refusals {
		path := written(t, text)
		_, err := serveConfig(t, fileEnv, "-config", path)
		if err == nil || status(err) != 78 || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "-secret") || want[0] == ':' && !strings.Contains(err.Error(), path+want) {
			t.Errorf("%q: error %v, want one with the file and no secret", text, err)
		}
		if strings.HasPrefix(text, "drain: 5m") && strings.Count(fmt.Sprint(err), path+":") != 3 {
			t.Errorf("%q: error %v, want all that is wrong", text, err)
		}
	}
	for text, want := range map[string]string{"": "want either -demo, -platform", "# nothing\n": "want either -demo, -platform", "platform: bluesky": "", "sources: [{name: f, kind: fake}]": ""} {
		if _, err := configured(t, text); want == "" && err != nil || want != "" && (status(err) != 78 || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), written(t, strings.Repeat("#", maxConfigFile+1))} {
		if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"check", "-config", path}); status(err) != 78 || !strings.HasPrefix(err.Error(), "-config: ") {
			t.Errorf("error %v, want one that names -config", err)
		}
	}
	for args, want := range map[string]string{
		"serve -demo=perhaps":                   `-demo "perhaps" is not allowed: want true or false`,
		"serve -demo -platform bluesky":         "want either -demo, -platform",
		"serve -demo -log xml":                  `-log "xml" is not allowed`,
		"serve -demo stray":                     `argument "stray" is not allowed`,
		"serve -owner x":                        "-owner",
		"serve -demo -db a.db":                  "-db is not allowed with demo",
		"watch bluesky:bsky.app -allow-private": "-allow-private is not allowed: it needs an account feed:…",
	} {
		if err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, strings.Fields(args)); status(err) != 78 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: status %d, error %v, want %q", args, status(err), err, want)
		}
	}
}

// No text makes it panic, or tells a secret of the environment.
func FuzzConfigFile(f *testing.F) {
	f.Add(wholeFile)
	f.Add("a: [b, {c: d}]\n---\n? x\n: *y\n<<: {}\nsources:\n- {name: x, kind: feed, secret: '${TOKEN}', callback: https://h/p}")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := configured(t, text); err != nil && strings.Contains(err.Error(), "pw-secret") {
			t.Errorf("%v", err)
		}
	})
}

// The file that deploy has to begin with is allowed, and has all keys.
func TestDeployedConfig(t *testing.T) {
	const path = "../../deploy/streamwatch.yaml"
	env := func(name string) (string, bool) { return oldSealKey, name == "STREAMWATCH_SEAL_KEY" }
	var out bytes.Buffer
	err := run(t.Context(), process{Env: env, Out: &out, Logs: io.Discard}, []string{"check", "-config", path})
	if err != nil || !strings.HasSuffix(out.String(), "Missing\n\n  nothing\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+)`).FindAllStringSubmatch(out.String(), -1) {
		if key := m[1]; !regexp.MustCompile(`(?m)^(# )?`+key+`:`).Match(text) && isKey(key) {
			t.Errorf("%s is not in the file", key)
		}
	}
}

// isKey reports whether a word of the report is a key that belongs into a file.
func isKey(word string) bool {
	return !slices.Contains([]string{"service", "console", "operators", "store", "telemetry", "stop", "accounts", "nothing", "demo", "sources"}, word)
}

// Check tells what would run and where each value is from, shows no secret, and leaves
// nothing behind.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // where the default of -db would be
	path := written(t, wholeFile+`  - {name: news, kind: feed, memory: '`+dir+`/feeds'}
  - {name: x, kind: x, token: '${TOKEN}'}
`)
	var out bytes.Buffer
	err := run(t.Context(), process{Env: fileEnv, Out: &out, Logs: io.Discard}, []string{"check", "-config", path, "-log", "json"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"service http://0.0.0.0:8080/v1/social/", "store Redis, redis://***@h:1/2, whose servers share the work", "where each key shows its owner's operators", "stop 5s while",
		"accounts bsky: bluesky, 5 calls a second", "accounts masto: mastodon https://masto.example, every 1m0s, unless a monitor says otherwise",
		"accounts news: feed, every 5m0s, unless a monitor says otherwise",
		" seal-key *** " + path + ":4: seal-key", " cursor-key none default", " log json -log", " drain 5s " + path + ":5: drain", " interval 1m0s default",
		" sources[1].token *** " + path + ":15: sources[1].token", "Missing tls-cert, tls-key: ", "ops-addr: nobody can read /metrics", "source news, contact: ", "source x, limit: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for _, not := range []string{"-secret", oldSealKey, "seal-key: the secrets"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, &out)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// Variables that are not set are told all at once: serve does not start, and check gives its
// whole report. A command on the store wants only those that it needs.
func TestUnsetVariables(t *testing.T) {
	dir := t.TempDir()
	path := written(t, `db: `+dir+`/a.db
seal-key: ${NOT_SET}
sources:
  - {name: masto, kind: mastodon, url: 'https://m.example', token: '${EMPTY}', stream: true}
`)
	want := []string{path + ":2: seal-key is missing: the environment variable NOT_SET is empty or not set", path + ":4: sources[0].token is missing: the environment variable EMPTY"}
	for command, reports := range map[string]bool{"serve": false, "check": true} {
		var out bytes.Buffer
		err := run(t.Context(), process{Env: fileEnv, Out: &out, Logs: io.Discard}, []string{command, "-config", path})
		for _, w := range want {
			if status(err) != 78 || !strings.Contains(err.Error(), w) || strings.Contains(out.String(), w) != reports {
				t.Errorf("%s: status %d, error %v, want %q; output %s", command, status(err), err, w, &out)
			}
		}
	}
	for args, want := range map[string]int{"key -owner a": 0, "keys -owner a": 0, "reseal": 78} {
		if err := run(t.Context(), process{Env: fileEnv, Out: io.Discard, Logs: io.Discard}, append(strings.Fields(args), "-config", path)); args != "keys -owner a" && status(err) != want {
			t.Errorf("%s: status %d, %v, want %d", args, status(err), err, want)
		}
	}
	if err := run(t.Context(), process{Env: fileEnv, Out: io.Discard, Logs: io.Discard}, []string{"keys", "-owner", "a", "-config", written(t, "db: ${NOT_SET}")}); status(err) != 78 || !strings.Contains(err.Error(), ":1: db is missing") {
		t.Errorf("a store that is not set: %v", err)
	}
}

// What a library refuses is told by the flag or the key, and by no field; a new database is
// not left behind.
func TestRefusalsOfLibraries(t *testing.T) {
	goField := regexp.MustCompile(`\b[a-z]+: [A-Z][A-Za-z.]+ |Options\.|Config\b`)
	old, evicting := miniredis.RunT(t), miniredis.RunT(t)
	if err := old.Server().Register("CONFIG", func(p *server.Peer, _ string, _ []string) { p.WriteStrings([]string{"maxmemory-policy", "noeviction"}) }); err != nil {
		t.Fatal(err)
	}
	old.Set("{streamwatch}:version", "streamwatch 99")
	long := strings.Repeat("a", 200)
	source := func(keys string) string { return "serve|sources: [{name: s, " + keys + "}]" }
	for args, want := range map[string]string{
		source("kind: bluesky, url: 'https://h/path'"):                              `: sources[0].url "https://h/path" is not allowed: want a scheme and a host`,
		source("kind: bluesky, url: 'https://h/path', pds: true, stream: true"):     `: sources[0].url "https://h/path" is not allowed`,
		source("kind: bluesky, stream: true, stream-url: 'wss://h/x?a=b'"):          `: sources[0].stream-url "wss://h/x" is not allowed: want ws:// or wss://`,
		source("kind: mastodon, url: 'https://h', token: '${LINES}'"):               `: sources[0].token *** is not allowed: want no CR`,
		source("kind: mastodon, url: 'https://h', visibility: followers"):           `: sources[0].visibility "followers" is not allowed: want public, unlisted, private or direct`,
		source("kind: remote, url: 'https://h', token: '${LINES}', stream: true"):   `: sources[0].token *** is not allowed`,
		source("kind: x, token: '${LINES}'"):                                        `: sources[0].token *** is not allowed`,
		source("kind: feed, contact: (a)"):                                          `: sources[0].contact "(a)" is not allowed: want printable ASCII`,
		source("kind: feed, callback: 'https://127.0.0.1/x', secret: '${HUB}'"):     `: sources[0].callback "https://127.0.0.1/x" is not allowed: want a host that hubs can reach`,
		source("kind: feed, callback: 'https://example.com/x', secret: '${TOKEN}'"): `: sources[0].secret of 10 bytes is not allowed: want 32 or more`,
		"serve|platform: bluesky\nsegment: account":                                 `: segment "account" is not allowed: want 1 to 32`,
		"serve|platform: bluesky\ncursor-key: abc":                                  `: cursor-key of 3 bytes is not allowed: want 16 or more`,
		"serve|platform: bluesky\nseal-key: abc":                                    `: seal-key is not allowed: want 32 bytes in base64`,
		"serve|platform: bluesky\ntls-cert: none\ntls-key: none":                    `: tls-cert and tls-key are not allowed`,
		"key -owner " + long:                                      `-owner "aaaa`,
		"key -owner a -tier " + long:                              `-tier "aaaa`,
		"key -owner a -scope god":                                 `-scope "god" is not allowed: want read, write or admin`,
		"key -owner a -rate -5":                                   `-rate "-5" is not allowed: want 0 to 1000000`,
		"credits -owner a -credits 5":                             "want a database that is there",
		"keys -owner a":                                           "want a database that is there",
		"revoke -owner a -id x":                                   "want a database that is there",
		"erase -owner a":                                          "want a database that is there",
		"1 keys -owner a -db .":                                   `-db `,
		"1 keys -owner a -db redis://" + old.Addr():               `-db redis://127.0.0.1:`,
		"1 keys -owner b -db redis://" + evicting.Addr():          `set "maxmemory-policy noeviction" in its configuration`,
		"1 credits -owner b -credits 5 -db redis://" + old.Addr(): `version 99, want 4: take another /database of the server, or remove the keys`,
	} {
		dir := t.TempDir()
		command, text, file := strings.Cut(args, "|")
		words, code := strings.Fields(command), 78
		if words[0] == "1" {
			words, code = words[1:], 1
		}
		if file {
			words = append(words, "-addr", "127.0.0.1:0", "-config", written(t, text))
		}
		if !slices.Contains(words, "-db") && words[0] != "watch" {
			words = append(words, "-db", filepath.Join(dir, "new.db"))
		}
		err := run(t.Context(), process{Env: fileEnv, Out: io.Discard, Logs: io.Discard}, words)
		if err == nil || !strings.Contains(err.Error(), want) || status(err) != code {
			t.Errorf("%.100s: status %d, error %v, want %d and %q", args, status(err), err, code, want)
		} else if text := err.Error(); goField.MatchString(text) || strings.Contains(text, "pw") {
			t.Errorf("%.100s: error %v names a field, or a password", args, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%.100s: left behind: %v, %v", args, files, err)
		}
	}
}

// An address that is taken, or not there yet, and a directory that cannot be made may be right
// later: the status is not that of a mistake, after which nobody starts the service again.
func TestWhatMayPassIsNoMistake(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	below := filepath.Join(written(t, ""), "x") // a file has nothing below it
	for text, want := range map[string]string{
		"addr: " + busy.Addr().String():                                                ":1: addr " + strconv.Quote(busy.Addr().String()) + ": listen tcp",
		"addr: 127.0.0.1:0\nops-addr: " + busy.Addr().String():                         ":2: ops-addr " + strconv.Quote(busy.Addr().String()) + ": listen tcp",
		"addr: 192.0.2.1:0":                                                            `:1: addr "192.0.2.1:0": listen tcp`,
		"addr: 127.0.0.1:0\nsources: [{name: f, kind: feed, memory: '" + below + "'}]": ":2: sources[0]: memory " + strconv.Quote(below) + ": feed: mkdir",
	} {
		err := run(t.Context(), process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, []string{"serve", "-config", written(t, text+"\nplatform: bluesky\ndb: "+filepath.Join(t.TempDir(), "new.db"))})
		if status(err) != 1 || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: status %d, error %v, want 1 and %q", text, status(err), err, want)
		}
	}
}
