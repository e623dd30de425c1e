package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fileEnv has the variables that the files of the tests name.
func fileEnv(name string) (string, bool) {
	v, ok := map[string]string{"REDIS_URL": "redis://me:pw-secret@h:1/2", "SEAL": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "TOKEN": "tok-secret"}[name]
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

const wholeFile = `# a comment
addr: 0.0.0.0:8080
redis-env: REDIS_URL
seal-key-env: SEAL
drain: 5s
stop-time: 30s
fleet: true
origins: [https://a.example, "https://b.example"]
max-rules: 5
log-level: warn
sources:
  - {name: bsky, kind: bluesky, probe: 0.5, stream: wss://j.example/subscribe, calls: 5, burst: 1500}
  - name: masto
    kind: mastodon
    url: https://masto.example
    token-env: TOKEN
    stream: true
    probe: false
`

// Flags go before the environment, and that before the file; each value knows where it
// is from.
func TestConfigFile(t *testing.T) {
	path := written(t, wholeFile)
	env := func(name string) (string, bool) {
		if name == "STREAMWATCH_STOP_TIME" {
			return "20s", true
		}
		return fileEnv(name)
	}
	c, err := parseServe(process{env: env, out: io.Discard}, []string{"-config", path, "-addr", "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if c.addr != "127.0.0.1:1" || c.stopTime != 20*time.Second || c.drain != 5*time.Second || !c.fleet || c.quotas.Rules != 5 ||
		c.redis != "redis://me:pw-secret@h:1/2" || string(c.sealKey) == "" || !slices.Equal(c.origins, []string{"https://a.example", "https://b.example"}) || c.logLevel.String() != "WARN" {
		t.Errorf("%+v", c)
	}
	for name, want := range map[string]string{"addr": "-addr", "stop-time": "STREAMWATCH_STOP_TIME", "drain": path + ":5: drain", "seal-key": path + ":4: seal-key-env", "redis": path + ":3: redis-env", "interval": ""} {
		if c.from[name] != want {
			t.Errorf("%s is from %q, want %q", name, c.from[name], want)
		}
	}
	if len(c.sources) != 2 || c.sources[0].probeRate != 0.5 || c.sources[0].calls != 5 || c.sources[0].burst != 1500 || c.sources[0].streamURL != "wss://j.example/subscribe" ||
		c.sources[1].url != "https://masto.example" || string(c.sources[1].token) != "tok-secret" || !c.sources[1].stream || c.sources[1].probe || c.sources[1].from != path+":13: source masto" {
		t.Errorf("sources %+v", c.sources)
	}
	c, err = parseServe(process{env: fileEnv, out: io.Discard}, []string{"-config", path, "-source", "f=fake"})
	if err != nil || len(c.sources) != 1 || c.sources[0].name != "f" {
		t.Errorf("sources %+v, %v: want that of the command line alone", c.sources, err)
	}
}

// What is not allowed is told with its line, its key, its value and what is; all of it
// at once; and no secret.
func TestConfigFileIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                               "want either -demo or -platform",
		"# nothing\n":                                    "want either -demo or -platform",
		"platform: bluesky\n":                            "",
		"platform: bluesky\nlog: xml":                    `:2: log "xml" is not allowed: want text or json`,
		"\naddress: x":                                   `:2: "address" is not allowed: want one of addr, allow-private, `,
		"source: f=fake":                                 `:1: "source" is not allowed: want one of `,
		"config: x":                                      `:1: "config" is not allowed`,
		"demo: yes":                                      `:1: demo "yes" is not allowed: want true or false`,
		"demo: true\ndrain: 5 minutes":                   `:2: drain "5 minutes" is not allowed: want a duration such as 1m30s`,
		"demo: true\nkeyless: many":                      `:2: keyless "many" is not allowed: want a whole number`,
		"demo: true\ncalls: fast":                        `:2: calls "fast" is not allowed: want a number`,
		"demo: true\ncalls: .nan":                        `:2: calls ".nan" is not allowed`,
		"demo: true\nlog-level: loud":                    `:2: log-level "loud" is not allowed: want debug, info, warn or error`,
		"demo: true\norigins: [a]":                       `:2: origins "a" is not allowed: `,
		"demo: true\nkeyless: -1":                        `:2: keyless -1 is not allowed: want 1 to 1000000`,
		"demo: true\nnode: a":                            `:2: node "a" is not allowed without -fleet`,
		"demo: true\nnode:":                              ":2: node is empty: want a value, or no such line",
		"demo: true\naddr: [a]":                          ":2: addr is a list, which is not allowed: want a value",
		"demo: &a true\nmetrics: *a":                     ":2: metrics is a reference, which is not allowed: want a value",
		"demo: true\ndemo: false":                        `:2: "demo" is not allowed twice: it is on line 1, too`,
		"- demo":                                         ":1: a list is not allowed: want keys and values",
		"demo: true\n---\ndemo: true":                    "a second document is not allowed",
		"demo: true\n x: y":                              ":2: is not YAML: mapping values are not allowed",
		"\t":                                             "is not YAML",
		"redis-env: redis://me:pw-secret":                ":1: redis-env *** is not allowed: want the name of an environment variable",
		"redis-env: NOT_SET":                             ":1: redis-env is missing: the environment variable NOT_SET is empty or not set: set it, or name another",
		"log: xml\nredis-env: NOT_SET":                   ":2: redis-env is missing: ",
		"redis: http://me:pw-secret@h":                   ":1: redis http://***@h is not allowed",
		"seal-key: pw-secret":                            `:1: "seal-key" is not allowed: want one of addr`,
		"seal-key-env: SEAL\ndemo: true":                 ":1: seal-key-env is not allowed with -demo",
		"sources: bluesky":                               ":1: sources is a single value, which is not allowed: want a list",
		"sources: [bluesky]":                             ":1: sources has a single value, which is not allowed: want name, kind and options",
		"sources: []":                                    ":1: sources is empty: want a source, or no such line",
		"sources:\n- {name: a, kind: x}":                 ":2: source a: token is missing",
		"sources:\n- {kind: fake}":                       ":2: name is missing",
		"sources:\n- {name: a}":                          ":2: kind is missing: want bluesky, mastodon, remote, x, feed or fake",
		"sources:\n- {name: A, kind: fake}":              `:2: name "A" is not allowed: want a name of 1 to 32`,
		"sources:\n- {name: a, kind: blusky}":            `:2: kind "blusky" is not allowed: want bluesky, `,
		"sources:\n- name: a\n  kind: fake\n  pds: true": `:4: source a: option "pds" is not allowed: want one of burst, calls, probe, stream`,
		"sources:\n- name: a\n  kind: bluesky\n  calls: fast":                             `:4: source a: calls "fast" is not allowed: want more than 0`,
		"sources:\n- name: a\n  url: ftp://h\n  kind: bluesky":                            ":3: source a: url is not allowed: want http://",
		"sources:\n- name: a\n  kind: mastodon\n  url: https://a\n  token: pw-secret":     `:5: source a: "token" is not allowed: want token-env`,
		"sources:\n- name: a\n  kind: mastodon\n  url: https://a\n  token-env: pw-secret": ":5: source a: token *** is not allowed",
		"sources:\n- {name: a, kind: fake}\n- {name: a, kind: fake}":                      `:3: name "a" is not allowed twice: `,
		"sources:\n- {name: a, kind: fake, name: b}":                                      `:2: "name" is not allowed twice`,
		"drain: 5m\nstop-time: 0s\nfleet: maybe\nsources: [{name: a, kind: b}]":           ":1: drain 5m0s is not allowed: want 0s to 1m",
	} {
		path := written(t, text)
		_, err := parseServe(process{env: fileEnv, out: io.Discard}, []string{"-config", path})
		if want == "" && err != nil || want != "" && (err == nil || status(err) != 78 || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "-secret") || strings.HasPrefix(want, ":") && !strings.Contains(err.Error(), path+want)) {
			t.Errorf("%q: error %v, want one with the file and no secret", text, err)
		}
		if strings.HasPrefix(text, "drain: 5m") && strings.Count(err.Error(), path+":") != 4 {
			t.Errorf("%q: error %v, want all that is wrong", text, err)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), written(t, strings.Repeat("#", maxConfigFile+1))} {
		if _, err := parseServe(process{env: noEnv}, []string{"-config", path}); err == nil || status(err) != 78 || !strings.Contains(err.Error(), "-config: ") {
			t.Errorf("error %v, want one that names -config", err)
		}
	}
}

// The file that deploy has to begin with is allowed.
func TestDeployedConfigFile(t *testing.T) {
	env := func(name string) (string, bool) {
		return "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", name == "STREAMWATCH_SEAL_KEY"
	}
	var out bytes.Buffer
	err := run(t.Context(), process{env, &out, io.Discard}, []string{"check", "-config", "../../deploy/streamwatch.yaml"})
	if err != nil || !strings.HasSuffix(out.String(), "Missing\n\n  nothing\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// No text makes it panic, or tells a secret of the environment.
func FuzzConfigFile(f *testing.F) {
	f.Add(wholeFile)
	f.Add("a: [b, {c: d}]\n---\n? x\n: *y\n<<: {}\nsources:\n- {name: x, kind: feed, token-env: TOKEN, stream: https://h/p}")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseServe(process{env: fileEnv, out: io.Discard}, []string{"-config", written(t, text)}); err != nil && strings.Contains(err.Error(), "pw-secret") {
			t.Errorf("%v", err)
		}
	})
}

// Check tells what would run and where each value is from, shows no secret, and leaves
// nothing behind.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // where the default of -db would be
	path := written(t, wholeFile+`  - {name: news, kind: feed, memory: `+dir+`/feeds}
  - {name: x, kind: x, token-env: TOKEN, limit: 5}
`)
	var out bytes.Buffer
	err := run(t.Context(), process{fileEnv, &out, io.Discard}, []string{"check", "-config", path, "-stop-time", "20s"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"service http://0.0.0.0:8080/v1/social/", "store Redis, redis://***@h:1/2", "console http://0.0.0.0:8080/console/, where each key shows its owner's operators", "fleet with all on this store", "stop 5s while",
		"bsky: bluesky, probed, stream wss://j.example/subscribe 5 calls a second, up to 1500 at once, 0.5 probes a second " + path + ":12: source bsky",
		"masto: mastodon https://masto.example, stream, token *** every 1m0s, unless a monitor says otherwise " + path + ":13: source masto",
		"x: x, token *** every 1m0s, unless a monitor says otherwise, at most $5 a day",
		"seal-key *** " + path + ":4: seal-key-env", "token none",
		" stop-time 20s -stop-time", " drain 5s " + path + ":5: drain", " interval 0s default", " redis redis://***@h:1/2 " + path + ":3: redis-env",
		"Missing tls-cert, tls-key: ", "ops-addr: nobody can read /metrics", "source news, contact: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for _, not := range []string{"pw-secret", "tok-secret", "MDEy", "cursor-key:", "source x, limit"} {
		if strings.Contains(text, not) {
			t.Errorf("%q is in\n%s", not, &out)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	for args, want := range map[string]string{
		"check -platform nonsense":                             `-platform "nonsense" is not allowed`,
		"check -platform bluesky -calls 1e9":                   "1e+09",
		"check -platform bluesky -tls-cert none -tls-key none": "-tls-cert and -tls-key are not allowed",
		"check": "want either -demo",
	} {
		if err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, strings.Fields(args)); status(err) != 78 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	out.Reset()
	if err := run(t.Context(), process{noEnv, &out, io.Discard}, []string{"check", "-demo"}); err != nil || !strings.Contains(out.String(), "nothing\n") {
		t.Errorf("%v, %s", err, &out)
	}
}

// Variables of secrets that are not set are told all at once: serve does not start, and
// check gives its whole report.
func TestUnsetVariables(t *testing.T) {
	path := written(t, `redis-env: R_URL
seal-key-env: S_KEY
cursor-key-env: EMPTY
token-env: T
platform: https://masto.example
sources:
  - name: masto
    kind: mastodon
    url: https://masto.example
    stream: true
    token-env: M_TOKEN
  - {name: other, kind: remote, url: https://other.example, token-env: O_KEY}
  - {name: x, kind: x, token-env: X_TOKEN, stream: true, rules: true, limit: 5}
  - {name: news, kind: feed, token-env: N_SECRET, stream: https://example.com/hub, contact: a@b.example}
  - {name: set, kind: mastodon, url: https://set.example, token-env: TOKEN}
`)
	env := func(name string) (string, bool) {
		if name == "EMPTY" {
			return "", true
		}
		return fileEnv(name)
	}
	for args, all := range map[string][]string{
		"-config": {":1: redis-env is missing: the environment variable R_URL ", ":2: seal-key-env is missing: the environment variable S_KEY ",
			":3: cursor-key-env is missing: the environment variable EMPTY ", ":4: token-env is missing: the environment variable T ",
			":11: source masto: token-env is missing: the environment variable M_TOKEN ", ":12: source other: token-env is missing: the environment variable O_KEY ",
			":13: source x: token-env is missing: the environment variable X_TOKEN ", ":14: source news: token-env is missing: the environment variable N_SECRET "},
		"-source a=x,token=A_TOKEN -source b=remote,https://b.example,stream,token=B_KEY": {
			"-source a: token is missing: the environment variable A_TOKEN ", "-source b: token is missing: the environment variable B_KEY "},
	} {
		words := strings.Fields(args)
		if args == "-config" {
			words = append(words, path)
		}
		_, err := parseServe(process{env: env, out: io.Discard}, words)
		var out bytes.Buffer
		failed := run(t.Context(), process{env, &out, io.Discard}, append([]string{"check"}, words...))
		if status(err) != 78 || status(failed) != 78 {
			t.Fatalf("%s: serve %v, check %v: want that both fail by their use", args, err, failed)
		}
		report, missing, _ := strings.Cut(out.String(), "Missing\n")
		for _, want := range all {
			if want += "is empty or not set: set it, or name another\n"; !strings.Contains(err.Error()+"\n", want) || !strings.Contains(missing, want) {
				t.Errorf("serve or check does not say %q", want)
			}
		}
		if n := strings.Count(err.Error(), " is missing: "); n != len(all) || !strings.HasPrefix(failed.Error(), fmt.Sprint(n, " of the environment variables that are named are empty")) {
			t.Errorf("%s: serve says\n%v\nand check\n%v\nwant %d", args, err, failed, len(all))
		}
		for _, not := range []string{"seal-key:", "cursor-key:", "source set"} {
			if args == "-config" && strings.Contains(missing, not) {
				t.Errorf("%s: %q is missing:\n%s", args, not, missing)
			}
		}
		if args != "-config" {
			continue
		}
		report = strings.Join(strings.Fields(report), " ")
		for _, want := range []string{"store Redis, not set", "masto: mastodon https://masto.example, stream, token not set every", "set: mastodon https://set.example, token *** every",
			"seal-key not set " + path + ":2: seal-key-env", "token not set " + path, "redis not set " + path + ":1: redis-env", "drain 2s default"} {
			if !strings.Contains(report, want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
	}
	// With what is not allowed it is told, too.
	for flag, value := range map[string]string{"-log": "xml", "-segment": "a/b"} {
		err := run(t.Context(), process{env, io.Discard, io.Discard}, []string{"check", "-config", path, flag, value})
		if status(err) != 78 || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), "the environment variable S_KEY is") {
			t.Errorf("error %v, want what is not allowed and what is not set", err)
		}
	}
}
