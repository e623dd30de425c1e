package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestParseServe(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"STREAMWATCH_ADDR": "127.0.0.1:1", "STREAMWATCH_SEAL_KEY": "k", "STREAMWATCH_PLATFORM": "bluesky"}[name]
		return v, ok
	}
	c, err := parseServe(process{env: env, out: io.Discard}, []string{"-addr", "127.0.0.1:2"})
	if err != nil || c.addr != "127.0.0.1:2" || c.platform != "bluesky" || string(c.sealKey) != "k" {
		t.Errorf("%+v, %v: want the environment, and the command line before it", c, err)
	}
	for args, want := range map[string]string{
		"-source b=bluesky":       "",
		"-source b=blusky":        `kind "blusky" is not allowed`,
		"":                        "want either -demo or -platform",
		"-demo -platform bluesky": "want either -demo or -platform",
		"-platform bluesky -pds https://pds.example.com":      "",
		"-platform bluesky -appview http://127.0.0.1:2584":    "",
		"-platform bluesky -pds https://p -appview https://a": "want one of them",
		"-demo -pds https://p":                                "it needs -platform bluesky",
		"-demo -tls-cert a":                                   `-tls-cert "a" is not allowed without -tls-key`,
		"-demo -log xml":                                      `-log "xml" is not allowed`,
		"-demo -interval -1s":                                 "-interval -1s is not allowed",
		"-demo stray":                                         `argument "stray" is not allowed`,
		"-owner x":                                            "-owner",
		"-demo -ops-addr 127.0.0.1:9 -calls 5":                "",
		"-demo -interval 100ms":                               "-interval 100ms is not allowed: want 1s, see -min-interval, to 24h0m0s",
		"-demo -interval 25h":                                 "-interval 25h0m0s is not allowed: want 1s",
		"-demo -calls 5 -burst 1500":                          "",
		"-demo -calls 5 -burst -1":                            "-burst -1 is not allowed: want 1 to 1000000 calls",
		"-demo -burst 5":                                      "-burst 5 is not allowed without calls a second: want -calls as well",
		"-demo -calls 1e9":                                    "-calls 1e+09 is not allowed: want more than 0 and at most 1000000",
		"-source a=bluesky,calls=1e9 -source b=blusky":        `-source a: calls "1e9" is not allowed: want more than 0 and at most 1000000 calls a second` + "\n" + `-source b: kind "blusky"`,
		"-demo -min-interval 99ms":                            "-min-interval 99ms is not allowed: want 100ms to",
		"-demo -origins example.com":                          `origin "example.com" is not allowed`,
		"-demo -drain 2m":                                     "-drain 2m0s is not allowed",
		"-demo -stop-time 0s":                                 "-stop-time 0s is not allowed",
		"-demo -max-rules -1":                                 "-max-rules -1 is not allowed",
		"-demo -max-monitors 5 -max-rules 5 -max-webhooks 5 -max-accounts 5 -max-websockets 5": "",
		"-demo -keyless 0": "-keyless 0 is not allowed",
		"-demo -min-interval 100ms -interval 100ms -origins https://a.example,http://[::1]:3000": "",
	} {
		_, err := parseServe(process{env: noEnv, out: io.Discard}, strings.Fields(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
	if _, err := parseServe(process{env: func(n string) (string, bool) { return "often", n == "STREAMWATCH_INTERVAL" }}, nil); err == nil || !strings.Contains(err.Error(), `STREAMWATCH_INTERVAL "often"`) {
		t.Errorf("a bad variable: %v", err)
	}
	if _, err := parseServe(process{env: func(n string) (string, bool) { return " ", n == "STREAMWATCH_SOURCE" }}, nil); err == nil || !strings.Contains(err.Error(), "want either -demo or -platform") {
		t.Errorf("no source in the variable: %v", err)
	}
	var help bytes.Buffer
	if _, err := parseServe(process{env: noEnv, out: &help}, []string{"-h"}); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-platform") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

// A port that none can be is found before anything is asked for.
func TestRedisPort(t *testing.T) {
	for address, want := range map[string]bool{
		"redis://h": true, "redis://h:0": false, "redis://h:65535": true, "redis://h:65536": false, "redis://h:99999999": false,
		"redis://h:1?addr=i:99999999": false, "redis://h:1?addr=i:2&addr=j:70000": false, "redis://h:1?addr=i:2": true,
		"redis://h:99999?master_name=m": false, "redis://h:1?master_name=m&addr=i:70000": false, "redis://h:1?master_name=m&addr=i:2": true,
	} {
		err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"check", "-platform", "bluesky", "-redis", address})
		if want && err != nil || !want && (status(err) != 78 || !strings.HasPrefix(err.Error(), "-redis redis://")) {
			t.Errorf("%s: status %d, %v, want it allowed: %t", address, status(err), err, want)
		}
	}
}

// A flag that is refused says which it is, and leaves no new database behind.
func TestRefusedFlagLeavesNoDatabase(t *testing.T) {
	for args, want := range map[string]string{
		"serve -platform nonsense":                             `-platform "nonsense" is not allowed`,
		"serve -platform bluesky -pds nonsense":                `-pds "nonsense" is not allowed: want http:// or https:// and a host`,
		"serve -platform bluesky -appview nonsense":            `-appview "nonsense" is not allowed: want http:// or https:// and a host`,
		"serve -platform bluesky -interval 1ns":                "1ns",
		"serve -platform bluesky -calls 1e9":                   "1e+09",
		"serve -platform bluesky -segment a/b":                 `-segment "a/b" is not allowed: want 1 to 32 of a-z`,
		"serve -platform bluesky -ops-addr nonsense":           `-ops-addr "nonsense" is not allowed`,
		"serve -platform bluesky -tls-cert none -tls-key none": "-tls-cert and -tls-key",
		"key -owner a -rate -5":                                "-5",
		"credits -owner a -credits 5":                          "want a database that is there",
		"keys -owner a":                                        "want a database that is there",
		"revoke -owner a -id x":                                "want a database that is there",
	} {
		dir := t.TempDir()
		all := strings.Fields(args)
		if all[0] == "serve" && !strings.Contains(args, " -addr ") {
			all = append(all, "-addr", "127.0.0.1:0")
		}
		err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, append(all, "-db", filepath.Join(dir, "new.db")))
		if err == nil || !strings.Contains(err.Error(), want) || status(err) != 78 {
			t.Errorf("%s: status %d, error %v, want %q", args, status(err), err, want)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: left behind: %v, %v", args, files, err)
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
	dir := t.TempDir()
	below := filepath.Join(written(t, ""), "x") // a file has nothing below it
	for args, want := range map[string]string{
		"-addr " + busy.Addr().String():     "-addr " + strconv.Quote(busy.Addr().String()) + ": listen tcp",
		"-ops-addr " + busy.Addr().String(): "-ops-addr " + strconv.Quote(busy.Addr().String()) + ": listen tcp",
		"-addr 192.0.2.1:0":                 `-addr "192.0.2.1:0": listen tcp`,
		"-source f=feed,memory=BELOW":       "-source f: memory " + strconv.Quote(below) + ": feed: mkdir",
	} {
		all := append([]string{"serve", "-platform", "bluesky", "-db", filepath.Join(dir, "new.db")}, strings.Fields(args)...)
		for i := range all { // its folder may have spaces
			all[i] = strings.Replace(all[i], "BELOW", below, 1)
		}
		if !strings.HasPrefix(args, "-addr") {
			all = append(all, "-addr", "127.0.0.1:0")
		}
		err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, all)
		if status(err) != 1 || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s: status %d, error %v, want 1 and %q", args, status(err), err, want)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: left behind: %v, %v", args, files, err)
		}
	}
}

func TestAPasswordInPlatformIsNotShown(t *testing.T) {
	err := run(t.Context(), process{noEnv, io.Discard, io.Discard}, []string{"check", "-platform", "https://user:hunter2@mastodon.example/?token=hunter2"})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "-platform") {
		t.Errorf("error = %v, want a refusal of -platform without the password", err)
	}
}
