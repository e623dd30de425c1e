package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) (string, bool) { return "", false }

func TestParse(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"STREAMWATCH_ADDR": "127.0.0.1:1", "STREAMWATCH_SEAL_KEY": "k", "STREAMWATCH_PLATFORM": "bluesky"}[name]
		return v, ok
	}
	c, err := parse("serve", []string{"-addr", "127.0.0.1:2"}, env, io.Discard)
	if err != nil || c.addr != "127.0.0.1:2" || c.platform != "bluesky" || string(c.sealKey) != "k" {
		t.Errorf("%+v, %v: want the environment, and the command line before it", c, err)
	}
	for args, want := range map[string]string{
		"serve -source b=bluesky":       "",
		"serve -source b=blusky":        `kind "blusky" is not allowed`,
		"serve":                         "want either -demo or -platform",
		"serve -demo -platform bluesky": "want either -demo or -platform",
		"serve -platform bluesky -pds https://pds.example.com":      "",
		"serve -platform bluesky -appview http://127.0.0.1:2584":    "",
		"serve -platform bluesky -pds https://p -appview https://a": "want one of them",
		"serve -demo -pds https://p":                                "they need -platform bluesky",
		"serve -demo -tls-cert a":                                   "-tls-cert and -tls-key: want both",
		"serve -demo -log xml":                                      `-log "xml" is not allowed`,
		"serve -demo -interval -1s":                                 "-interval -1s is not allowed",
		"serve -demo stray":                                         `argument "stray" is not allowed`,
		"serve -owner x":                                            "-owner",
		"key":                                                       "-owner is missing",
		"credits -owner a":                                          "-credits 0 is not allowed",
		"revoke -owner a":                                           "-id is missing",
		"dance":                                                     `command "dance" is not allowed: want one of serve, key`,
		"key -owner a -name b -credits 5 -rate 60":                  "",
		"serve -demo -ops-addr 127.0.0.1:9 -calls 5":                "",
		"serve -demo -interval 100ms":                               "-interval 100ms is not allowed: want 1s or more, see -min-interval",
		"serve -demo -min-interval 99ms":                            "-min-interval 99ms is not allowed: want 100ms to",
		"serve -demo -origins example.com":                          `origin "example.com" is not allowed`,
		"serve -demo -drain 2m":                                     "-drain 2m0s is not allowed",
		"serve -demo -stop-time 0s":                                 "-stop-time 0s is not allowed",
		"serve -demo -max-rules -1":                                 "-max-… below 0 is not allowed",
		"serve -demo -max-monitors 5 -max-rules 5 -max-webhooks 5 -max-accounts 5 -max-websockets 5": "",
		"serve -demo -keyless 0": "-keyless 0 is not allowed",
		"serve -demo -min-interval 100ms -interval 100ms -origins https://a.example,http://[::1]:3000": "",
	} {
		f := strings.Fields(args)
		_, err := parse(f[0], f[1:], noEnv, io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
	if _, err := parse("serve", nil, func(n string) (string, bool) { return "often", n == "STREAMWATCH_INTERVAL" }, io.Discard); err == nil || !strings.Contains(err.Error(), `STREAMWATCH_INTERVAL "often"`) {
		t.Errorf("a bad variable: %v", err)
	}
	var help bytes.Buffer
	if _, err := parse("serve", []string{"-h"}, noEnv, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-platform") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

func TestConnectionLog(t *testing.T) {
	var out bytes.Buffer
	l := connectionLog(slog.New(slog.NewTextHandler(&out, nil)))
	l.Print("http: TLS handshake error from 192.0.2.1:4: EOF")
	if out.Len() > 0 {
		t.Errorf("a handshake is logged: %s", &out)
	}
	l.Print("http: Accept error: too many open files; retrying in 5ms")
	if !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "too many open files") {
		t.Errorf("log %q", &out)
	}
}

func TestRedisOptions(t *testing.T) {
	if in := (&config{stored: stored{redis: "redis://me:pw@h:1/2"}}).where(); in != "redis://me:xxxxx@h:1/2" {
		t.Errorf("where: %q, want the address without the password", in)
	}
	o, err := redisOptions("redis://me:pw@h:1/2")
	if err != nil || o.Addrs[0] != "h:1" || o.DB != 2 || o.Password != "pw" || o.IsClusterMode {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = redisOptions("rediss://h:1?addr=i:2"); err != nil || len(o.Addrs) != 2 || !o.IsClusterMode || o.TLSConfig == nil {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"http://me:pw@h", "redis://me:pw@h:1/x", "redis://me:pw@h:x"} {
		if _, err := redisOptions(bad); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%s: error %v, want one without the password", bad, err)
		}
	}
}

// Keys and credits are issued beside a server, on its store.
func TestAdmin(t *testing.T) {
	db := filepath.Join(t.TempDir(), "a.db")
	do := func(args string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append(strings.Fields(args), "-db", db), noEnv, &out, io.Discard)
		return out.String(), err
	}
	out, err := do("key -owner acme -name production -credits 20")
	m := regexp.MustCompile(`(?m)^id +(\S+)\nkey +(sw_live_\w+)$`).FindStringSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%q, %v", out, err)
	}
	if !strings.Contains(out, "\nin   "+db+"\n") {
		t.Errorf("%q: want the store in which the key is", out)
	}
	if out, err = do("key -owner acme -name operations -scope admin"); err != nil {
		t.Fatalf("%q, %v", out, err)
	}
	if out, err = do("keys -owner acme"); err != nil || !regexp.MustCompile(`production +sw_live_\S+ +write .*\n.*operations +sw_live_\S+ +admin `).MatchString(out) {
		t.Errorf("%q, %v: want the scopes", out, err)
	}
	if _, err = do("key -owner acme -scope root"); err == nil || !strings.Contains(err.Error(), "want read, write or admin") {
		t.Errorf("-scope root: %v", err)
	}
	for range 2 {
		if out, err = do("credits -owner acme -credits 5 -id invoice-1"); err != nil || out != "acme has 25 credits\n" {
			t.Errorf("%q, %v: want 25 credits, also the second time", out, err)
		}
	}
	if out, err = do("keys -owner acme"); err != nil || !strings.Contains(out, m[1]) || !strings.Contains(out, "true") || strings.Contains(out, m[2]) {
		t.Errorf("%q, %v", out, err)
	}
	if _, err = do("revoke -owner other -id " + m[1]); err == nil || !strings.Contains(err.Error(), `-owner "other" has no key`) {
		t.Errorf("another owner's key: %v", err)
	}
	if _, err = do("revoke -owner acme -id " + m[1]); err != nil {
		t.Error(err)
	}
	if out, _ = do("keys -owner acme"); !strings.Contains(out, "false") {
		t.Errorf("%q: want a key that is not valid", out)
	}
}

// lines hands on what is written, line by line.
type lines struct{ w *io.PipeWriter }

func (l lines) Write(b []byte) (int, error) { return l.w.Write(b) }

// What the README tells a newcomer to do works: a key, a monitor, a signed
// webhook, the log, the stream, a page, a product, metrics; and the server ends
// when it is told to.
func TestDemo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	outR, outW := io.Pipe()
	logR, logW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"-demo", "-addr", "127.0.0.1:0", "-log", "json", "-drain", "0s"}, noEnv, lines{outW}, lines{logW})
		outW.CloseWithError(io.EOF)
		logW.CloseWithError(io.EOF)
		ended <- err
	}()
	hooked := make(chan string, 1)
	logsRead := make(chan struct{})
	go func() {
		defer close(logsRead)
		for s := bufio.NewScanner(logR); s.Scan(); {
			if strings.Contains(s.Text(), "webhook received, signature valid") {
				select {
				case hooked <- s.Text():
				default:
				}
			}
			if strings.Contains(s.Text(), "sw_live_") || strings.Contains(s.Text(), "whsec_") {
				t.Errorf("a secret is in the log: %s", s.Text())
			}
		}
	}()
	var key, base string
	for s := bufio.NewScanner(outR); base == "" && s.Scan(); {
		if m := regexp.MustCompile(`export KEY=(\S+) BASE=(\S+)`).FindStringSubmatch(s.Text()); m != nil {
			key, base = m[1], m[2]
		}
	}
	go io.Copy(io.Discard, outR)
	if base == "" {
		t.Fatalf("no key was printed: %v", <-ended)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(method, path, body string, want int) map[string]any {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("x-api-key", key)
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, resp.StatusCode, text, want)
		}
		var doc map[string]any
		json.Unmarshal(text, &doc)
		return doc
	}

	monitor := ask("POST", "/v1/social/stream/monitors", `{"name":"space","usernames":["nasa","esa","jaxa"],"webhook_url":"`+base+`/demo/hook"}`, 201)
	ws, _, err := websocket.Dial(ctx, base+"/v1/social/stream", &websocket.DialOptions{HTTPClient: client, HTTPHeader: http.Header{"x-api-key": {key}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	for frame := ""; !strings.Contains(frame, `"type":"tweet"`); {
		_, b, err := ws.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		frame = string(b)
	}
	select {
	case <-hooked:
	case <-time.After(time.Minute):
		t.Fatal("no webhook within a minute")
	}
	if logs := ask("GET", fmt.Sprint("/v1/social/stream/logs?monitor_id=", monitor["id"]), "", 200); logs["total"].(float64) < 1 {
		t.Errorf("logs %v", logs)
	}
	for path, want := range map[string]string{
		"/v1/account/me":                                           `"tier":"demo"`,
		"/v1/social/users/nasa/by_username":                        `"id":"100001"`,
		"/v1/social/users/batch_by_ids?user_ids=100002,9":          `"username":"esa"`,
		"/v1/social/communities/search?query=space":                `"name":"Spaceflight"`,
		"/v1/social/communities/7/tweets":                          `"username":"nasa"`,
		"/v1/social/tweets/advanced_search?query=from:esa":         `"username":"esa"`,
		"/v1/marketplace/products/178926468/21448123549":           `"price":15.99`,
		"/v1/marketplace/products/178926468/21448123549?market=my": `"price":`,
		"/v1/openapi.json":                                         `"openapi":"3.1`,
		"/v1/social/users/jaxa/latest_tweets":                      `"username":"jaxa"`,
	} {
		if b, _ := json.Marshal(ask("GET", path, "", 200)); !strings.Contains(string(b), want) {
			t.Errorf("GET %s: %.300s, want %s", path, b, want)
		}
	}
	page := ask("POST", "/v1/web/scrape", `{"url":"`+base+`/demo/page","format":"markdown"}`, 200)
	if !strings.Contains(fmt.Sprint(page["content"]), "**bold**") {
		t.Errorf("page %v", page)
	}
	tweets := ask("GET", "/v1/social/users/nasa/latest_tweets", "", 200)["data"].([]any)
	id := tweets[0].(map[string]any)["id"]
	if b, _ := json.Marshal(ask("GET", fmt.Sprint("/v1/social/tweets/?tweets=", id), "", 200)); !strings.Contains(string(b), fmt.Sprint(id)) {
		t.Errorf("tweet %v: %s", id, b)
	}
	ask("POST", "/v1/social/stream/filter-rules", `{"tag":"hello","query":"from:jaxa post","interval_seconds":1}`, 201)
	ask("GET", "/healthz", "", 200)
	resp, err := client.Get(base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !regexp.MustCompile(`(?m)^streamwatch_events_total [1-9]`).Match(text) {
		t.Errorf("no events in the metrics: %.500s", text)
	}

	ws.CloseNow()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("end: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server did not end within a minute")
	}
	<-logsRead
}

// A flag that is refused says which it is, and leaves no new database behind.
func TestRefusedFlagLeavesNoDatabase(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for args, want := range map[string]string{
		"serve -platform nonsense":                              `-platform "nonsense" is not allowed`,
		"serve -platform bluesky -pds nonsense":                 "-pds is not allowed",
		"serve -platform bluesky -appview nonsense":             "-appview",
		"serve -platform bluesky -interval 1ns":                 "1ns",
		"serve -platform bluesky -calls 1e9":                    "1e+09",
		"serve -platform bluesky -segment a/b":                  "a/b",
		"serve -platform bluesky -addr " + busy.Addr().String(): "-addr",
		"serve -platform bluesky -ops-addr nonsense":            `-ops-addr "nonsense" is not allowed`,
		"serve -platform bluesky -tls-cert none -tls-key none":  "-tls-cert and -tls-key",
		"key -owner a -rate -5":                                 "-5",
		"keys -owner a":                                         "-db",
		"revoke -owner a -id x":                                 "-db",
	} {
		dir := t.TempDir()
		all := strings.Fields(args)
		if all[0] == "serve" && !strings.Contains(args, " -addr ") {
			all = append(all, "-addr", "127.0.0.1:0")
		}
		err := run(t.Context(), append(all, "-db", filepath.Join(dir, "new.db")), noEnv, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: left behind: %v, %v", args, files, err)
		}
	}
}
