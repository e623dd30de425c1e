package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
)

// With -ui the console is there, on this machine alone, until Ctrl-C.
func TestConsole(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var w heard.Output
	type outcome struct {
		sum *summary
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		o := options{posts: 5, accounts: 2, interval: 200 * time.Millisecond, lasts: 200 * time.Millisecond, ui: true}
		sum, err := demonstrate(ctx, o, &w)
		w.End()
		ended <- outcome{sum, err}
	}()
	url := w.Wait(t, `console: (\S+)\n`)[1]
	w.Wait(t, "until Ctrl-C")
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
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(page), "<dt>Events found</dt><dd>5</dd>") {
		t.Errorf("status %d, error %v: %s", res.StatusCode, err, page)
	}
	interrupt()
	if got := <-ended; got.err != nil || got.sum.Detected != 5 {
		t.Errorf("summary %+v, error %v", got.sum, got.err)
	}
}
