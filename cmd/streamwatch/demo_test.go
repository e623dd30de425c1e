package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

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
		err := run(ctx, process{noEnv, lines{outW}, lines{logW}}, []string{"serve", "-demo", "-addr", "127.0.0.1:0", "-log", "json", "-drain", "0s"})
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
	ask("GET", "/console/login", "", 200)
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
