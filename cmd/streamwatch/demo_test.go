package main

import (
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

	"github.com/streamwatch/streamwatch/internal/heard"
)

// demo is a server with -demo in this process.
type demo struct {
	key, base string
	client    *http.Client
	out, log  heard.Output
	stop      func()
	ended     chan error
}

// serveDemo runs one with this configuration, on a free port unless that has an address.
func serveDemo(t *testing.T, text string) *demo {
	t.Helper()
	if !strings.Contains(text, "\naddr:") {
		text += "\naddr: 127.0.0.1:0"
	}
	return serveDemoFrom(t, written(t, text))
}

// serveDemoFrom runs one with a configuration file.
func serveDemoFrom(t *testing.T, path string) *demo {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &demo{client: &http.Client{Transport: &http.Transport{}}, stop: stop, ended: make(chan error, 1)}
	t.Cleanup(d.client.CloseIdleConnections)
	go func() {
		err := run(ctx, process{Env: noEnv, Out: &d.out, Logs: &d.log}, []string{"serve", "-demo", "-config", path})
		if err != nil {
			fmt.Fprintln(&d.out, err)
		}
		d.out.End()
		d.log.End()
		d.ended <- err
	}()
	m := d.out.Wait(t, `export KEY=(\S+) BASE=(\S+)\n`)
	d.key, d.base = m[1], m[2]
	return d
}

// ask makes a request with the key.
func (d *demo) ask(t *testing.T, method, path, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-api-key", d.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// listen opens the stream of events.
func (d *demo) listen(t *testing.T) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), d.base+"/v1/social/stream", &websocket.DialOptions{HTTPClient: d.client, HTTPHeader: http.Header{"x-api-key": {d.key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.CloseNow() })
	return ws
}

// end waits for the end of a server that was told to stop.
func (d *demo) end(t *testing.T) {
	t.Helper()
	select {
	case err := <-d.ended:
		if err != nil {
			t.Errorf("end: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server did not end within a minute")
	}
}

// What the README tells a newcomer to do works: a key, a monitor, a signed
// webhook, the log, the stream, a page, a product, metrics; and the server ends
// when it is told to.
func TestDemo(t *testing.T) {
	t.Parallel()
	d := serveDemo(t, "drain: 0s\nlog: json")
	ask := func(method, path, body string, want int) (doc map[string]any) {
		t.Helper()
		status, text := d.ask(t, method, path, body)
		if status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, status, text, want)
		}
		json.Unmarshal([]byte(text), &doc)
		return doc
	}

	monitor := ask("POST", "/v1/social/stream/monitors", `{"name":"space","usernames":["nasa","esa","jaxa"],"webhook_url":"`+d.base+`/demo/hook"}`, 201)
	ws := d.listen(t)
	for frame := ""; !strings.Contains(frame, `"type":"tweet"`); {
		_, b, err := ws.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		frame = string(b)
	}
	d.log.Wait(t, "webhook received, signature valid")
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
	page := ask("POST", "/v1/web/scrape", `{"url":"`+d.base+`/demo/page","format":"markdown"}`, 200)
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
	if _, text := d.ask(t, "GET", "/metrics", ""); !regexp.MustCompile(`(?m)^streamwatch_events_total [1-9]`).MatchString(text) {
		t.Errorf("no events in the metrics: %.500s", text)
	}

	ws.CloseNow()
	d.stop()
	d.end(t)
	if log := d.log.String(); strings.Contains(log, "sw_live_") || strings.Contains(log, "whsec_") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
}

// A demonstration that listens on all addresses, as in a container, is told by one that its
// own webhooks may call.
func TestDemoOnAllAddresses(t *testing.T) {
	t.Parallel()
	d := serveDemo(t, "drain: 0s\naddr: :0")
	if !strings.HasPrefix(d.base, "http://127.0.0.1:") {
		t.Errorf("BASE=%s, want one of 127.0.0.1", d.base)
	}
	if status, text := d.ask(t, "POST", "/v1/social/stream/monitors", `{"name":"space","usernames":["nasa"],"webhook_url":"`+d.base+`/demo/hook"}`); status != http.StatusCreated {
		t.Errorf("the demonstration's hook: %d %s", status, text)
	}
	d.stop()
	d.end(t)
}
