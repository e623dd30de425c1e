package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// What a feed and an account of X publish is detected, and the summary says what X has
// charged.
func TestFeedsAndX(t *testing.T) {
	t.Parallel()
	x := xapitest.New(xapitest.Config{Token: "app-token"})
	x.AddAccount("ann")
	old := time.Now().Add(-time.Hour)
	x.Publish("ann", xapitest.Post{Text: "an old post", At: old})
	xServer := httptest.NewServer(x)
	defer xServer.Close()
	var published atomic.Pointer[time.Time] // when the second item was
	feeds := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title>`)
		item := func(n int, at time.Time) {
			fmt.Fprintf(w, `<item><guid isPermaLink="false">n%d</guid><title>item %d</title><pubDate>%s</pubDate></item>`, n, n, at.UTC().Format(time.RFC1123))
		}
		if at := published.Load(); at != nil {
			item(2, *at)
		}
		item(1, old)
		fmt.Fprint(w, `</channel></rss>`)
	}))
	defer feeds.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); cancel() }()
	out := &heard.Output{}
	out.On("watching feed:", func() { now := time.Now(); published.Store(&now) })
	out.On("watching x:", func() { x.Post("ann", "a new post") })
	out.On(`"a new post"`, both.Done)
	out.On(`item 2`, both.Done)
	sum, err := watch(ctx, options{
		x: xOptions{list{"@ann"}, xServer.URL, 1, "app-token"}, feed: feedOptions{list{feeds.URL + "/news.xml"}, time.Second}, allowPrivate: true,
		interval: time.Second, runFor: time.Minute,
	}, out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if notes := strings.Join(sum.notes, "\n"); sum.Detected != 2 || !strings.Contains(notes, "x: 2 posts and 1 accounts billed, $0.020") {
		t.Errorf("detected %d, notes %q:\n%s", sum.Detected, notes, out.String())
	}
	if text := out.String(); !strings.Contains(text, "x: about $0.005 a day") || strings.Contains(text, "old post") {
		t.Errorf("output\n%s\nwant the planned cost, and nothing old", text)
	}
}

// What -since reads before the engine starts is billed as well.
func TestBillOfSince(t *testing.T) {
	x := xapitest.New(xapitest.Config{Token: "app-token"})
	x.AddAccount("ann")
	x.Publish("ann", xapitest.Post{Text: "an old post", At: time.Now().Add(-time.Hour)})
	server := httptest.NewServer(x)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &heard.Output{}
	out.On("watching x:", cancel)
	sum, err := watch(ctx, options{x: xOptions{list{"ann"}, server.URL, 1, "app-token"}, since: true, allowPrivate: true, interval: time.Second}, out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if notes := strings.Join(sum.notes, "\n"); !strings.Contains(notes, "x: 1 posts and 1 accounts billed, $0.015") || !strings.Contains(out.String(), "an old post") {
		t.Errorf("notes %q:\n%s", notes, out.String())
	}
}

func TestXNeedsAToken(t *testing.T) {
	o, err := parse([]string{"-x", "nasa"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch(t.Context(), o, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "X_BEARER_TOKEN is not set") {
		t.Errorf("error %v, want one that names the variable", err)
	}
}
