package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// saidWriter hands on what is written, line by line.
type saidWriter struct {
	mu    sync.Mutex
	rest  bytes.Buffer
	lines chan string // with room for all
}

func (w *saidWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest.Write(p)
	for {
		line, err := w.rest.ReadString('\n')
		if err != nil {
			w.rest.WriteString(line)
			return len(p), nil
		}
		select {
		case w.lines <- strings.TrimSpace(line):
		default:
		}
	}
}

// With -ui the console is there, on this machine alone, until Ctrl-C.
func TestConsole(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	w := &saidWriter{lines: make(chan string, 1000)}
	type outcome struct {
		sum *summary
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		o := options{posts: 5, accounts: 2, interval: 200 * time.Millisecond, lasts: 500 * time.Millisecond, ui: true}
		sum, err := demonstrate(ctx, o, w)
		ended <- outcome{sum, err}
	}()
	var url string
	for done := false; !done; {
		select {
		case line := <-w.lines:
			if at, ok := strings.CutPrefix(line, "console: "); ok {
				url = at
			}
			done = strings.Contains(line, "until Ctrl-C")
		case got := <-ended:
			t.Fatalf("it has ended by itself: %+v, %v", got.sum, got.err)
		}
	}
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/") {
		t.Fatalf("console at %q", url)
	}
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(page), "Last 5 minutes: 5 events") {
		t.Errorf("status %d, error %v: %s", res.StatusCode, err, page)
	}
	interrupt()
	if got := <-ended; got.err != nil || got.sum.Detected != 5 {
		t.Errorf("summary %+v, error %v", got.sum, got.err)
	}
}
