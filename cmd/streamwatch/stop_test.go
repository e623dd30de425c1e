package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/enginehttp"
)

// A server that is told to stop first says that it is not ready, and serves on.
// What then takes too long is cut, and the program has not failed for that.
func TestSlowRequestIsCut(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(release)

	d := serveDemo(t, "ops-addr: 127.0.0.1:0\ndrain: 10s\nstop-time: 200ms")
	ops := d.log.Wait(t, `msg="serving operators" address=(\S+)`)[1]
	get := func(url string) (int, string) {
		t.Helper()
		resp, err := d.client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := get(d.base + "/readyz"); status != 200 {
		t.Fatalf("readyz %d %s", status, body)
	}
	scraped := make(chan error, 1)
	go func() {
		req, _ := http.NewRequest("POST", d.base+"/v1/web/scrape", strings.NewReader(`{"url":"`+slow.URL+`/"}`))
		req.Header.Set("X-Api-Key", d.key)
		req.Header.Set("Content-Type", "application/json")
		resp, err := d.client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		scraped <- err
	}()
	<-asked
	d.stop()
	for status := 200; status == 200; { // until the signal is seen
		var body string
		if status, body = get(d.base + "/readyz"); status != 200 && (status != 503 || body != "not ready: stopping\n") {
			t.Errorf("readyz %d %q while stopping", status, body)
		}
	}
	for _, url := range []string{d.base + "/livez", ops + "/livez", ops + "/metrics"} {
		if status, _ := get(url); status != 200 {
			t.Errorf("%s: %d while stopping", url, status)
		}
	}
	d.end(t)
	if err := <-scraped; err == nil {
		t.Error("the slow request was answered: want it cut")
	}
	if !strings.Contains(d.log.String(), "requests cut short") {
		t.Errorf("log %s", &d.log)
	}
}

// Figures about customers are not for everybody who can reach the service; those of the
// demonstration are.
func TestMetricsAreForOperators(t *testing.T) {
	for _, demo := range []bool{false, true} {
		yes := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		public, ops := muxes(config{Demo: demo}, http.NotFoundHandler(), nil, enginehttp.NewProbes(nil, nil), yes)
		for mux, want := range map[http.Handler]int{public: map[bool]int{true: 200, false: 404}[demo], ops: 200} {
			rec := httptest.NewRecorder()
			if mux.ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil)); rec.Code != want {
				t.Errorf("demo %t: /metrics gave %d, want %d", demo, rec.Code, want)
			}
		}
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
