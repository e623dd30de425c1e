package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/heard"
)

func TestParseWatch(t *testing.T) {
	for args, want := range map[string]string{
		"mastodon:Gargron@mastodon.social":                       "",
		"mastodon:a@b -since":                                    "",
		"-since -interval 5s bluesky:bsky.app mastodon:a@b":      "",
		"bluesky:bsky.app -interval 5s feed:https://go.dev/feed": "",
		"":                            "account is missing: want one or more such as mastodon:",
		"-since":                      "account is missing",
		"mastodon:a@b -interval 1s":   "-interval 1s is not allowed: want 5s to 1h",
		"mastodon:a@b -often":         "-often",
		"Gargron":                     `account "Gargron" is not allowed: want mastodon:user@host, bluesky:handle or feed:`,
		"x:nasa":                      `account "x:nasa" is not allowed: want mastodon:, bluesky: or feed: before it`,
		"bluesky:":                    `account "bluesky:" is not allowed`,
		"mastodon:a":                  "want mastodon:user@host or mastodon:https://host/@user",
		"mastodon:https://me:pw@a/@b": "want mastodon:user@host",
		"mastodon:https://h/@a/b":     `account "mastodon:https://h/@a/b" is not allowed`,
		"bluesky:nasa":                `account "bluesky:nasa" is not allowed: want`,
		"feed:http://127.0.0.1/feed":  `account "feed:http://127.0.0.1/feed" is not allowed: want`,
		"feed:http://127.0.0.1/feed -allow-private": "",
	} {
		ended, end := context.WithCancel(t.Context())
		end() // nothing is read
		err := run(ended, process{Env: noEnv, Out: io.Discard, Logs: io.Discard}, append([]string{"watch"}, strings.Fields(args)...))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	all, err := openWatched(watchConfig{accounts: strings.Fields("mastodon:a@H.example mastodon:@A@h.example mastodon:https://h.example/@a/ bluesky:@x.example bluesky:https://bsky.app/profile/x.example mastodon:a@i.example")})
	if err != nil || strings.Join(all.names, " ") != "mastodon:a@h.example bluesky:x.example mastodon:a@i.example" || len(all.sources) != 2 {
		t.Errorf("%+v, %v: want each account once", all, err)
	}
}

// fakeServer answers as a Mastodon server with one account, as an AppView without posts,
// and as a feed. Each has an old post, and a new one once fresh is set.
func fakeServer(t *testing.T, fresh *atomic.Bool) *httptest.Server {
	began := time.Now()
	status := func(id int, text string, at time.Time) string {
		return fmt.Sprintf(`{"id":"%d","created_at":%q,"content":"<p>%s</p>","url":"https://h.example/%d","visibility":"public","account":{"id":"1","username":"ann","acct":"ann"}}`,
			id, at.UTC().Format("2006-01-02T15:04:05.000Z"), text, id)
	}
	var published atomic.Value // when the new posts were made
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		now := time.Now()
		if fresh.Load() {
			published.CompareAndSwap(nil, now)
		}
		at, isNew := published.Load().(time.Time)
		switch {
		case r.FormValue("acct") == "ann":
			fmt.Fprint(w, `{"id":"1","username":"ann","acct":"ann"}`)
		case strings.HasSuffix(r.URL.Path, "/1/statuses") && isNew:
			fmt.Fprintf(w, "[%s,%s]", status(11, "a new\u202e toot", at), status(10, "an old toot", began.Add(-time.Hour)))
		case strings.HasSuffix(r.URL.Path, "/1/statuses"):
			fmt.Fprintf(w, "[%s]", status(10, "an old toot", began.Add(-time.Hour)))
		case r.URL.Path == "/xrpc/app.bsky.feed.getAuthorFeed":
			fmt.Fprint(w, `{"feed":[]}`)
		case r.URL.Path == "/xrpc/com.atproto.identity.resolveHandle":
			fmt.Fprint(w, `{"did":"did:plc:z72i7hdynmk6r22z27h6tvur"}`)
		case r.URL.Path == "/feed":
			w.Header().Set("Content-Type", "application/rss+xml")
			item := func(n int, at time.Time) string {
				return fmt.Sprintf(`<item><guid isPermaLink="false">n%d</guid><title>item %d</title><link>https://f.example/%d</link><pubDate>%s</pubDate></item>`, n, n, n, at.UTC().Format(time.RFC1123))
			}
			fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title>`)
			if isNew {
				fmt.Fprint(w, item(2, at.Add(time.Second)))
			}
			fmt.Fprint(w, item(1, began.Add(-time.Hour)), `</channel></rss>`)
		default:
			http.Error(w, `{"error":"Record not found"}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// With -since the newest posts come first, then each new one is a line, and the end is
// no failure.
func TestWatch(t *testing.T) {
	t.Parallel()
	var fresh atomic.Bool
	server := fakeServer(t, &fresh)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); cancel() }()
	var out, logs heard.Output
	out.On("a new toot", both.Done)
	out.On("item 2", both.Done)
	logs.On("watching feed:", func() { fresh.Store(true) })
	host := strings.TrimPrefix(server.URL, "http://")
	err := watch(ctx, process{Env: noEnv, Out: &out, Logs: &logs}, watchConfig{
		accounts: []string{"mastodon:" + server.URL + "/@ann", "feed:" + server.URL + "/feed", "bluesky:quiet.example"},
		since:    true, interval: time.Second, feedInterval: time.Second, appView: server.URL, allowPrivate: true,
	})
	if err != nil || ctx.Err() == context.DeadlineExceeded {
		t.Errorf("%v, %v; %s", err, ctx.Err(), &logs)
	}
	for _, line := range []string{
		`  mastodon:ann@` + host + `  "an old toot"  newest, of `, `  https://h.example/10` + "\n",
		`  mastodon:ann@` + host + `  "a new toot"  `, ` late  https://h.example/11` + "\n",
		`"item 1"  newest`, `"item 2"  `,
	} {
		if strings.Count(out.String(), line) != 1 {
			t.Errorf("output:\n%s\nwant %q in it, once", &out, line)
		}
	}
	if !strings.Contains(logs.String(), "bluesky:quiet.example has no posts") {
		t.Errorf("log:\n%s", &logs)
	}
}

// What is posted while the accounts are read for -since is printed, once: by an account
// that was read before, and by the one whose newest post it is.
func TestWatchFromTheStart(t *testing.T) {
	t.Parallel()
	var fresh atomic.Bool
	platform := fakeServer(t, &fresh)
	var feeds atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); cancel() }()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/feed" {
			fresh.Store(true)
			switch feeds.Add(1) {
			case 1: // the answer takes so long that the post is of another second
				defer func() { <-time.After(1500 * time.Millisecond) }()
			case 4: // what the polls before have found was printed
				both.Done()
			}
		}
		platform.Config.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	var out, logs heard.Output
	out.On("a new toot", both.Done)
	err := watch(ctx, process{Env: noEnv, Out: &out, Logs: &logs}, watchConfig{
		accounts: []string{"mastodon:" + server.URL + "/@ann", "feed:" + server.URL + "/feed"},
		since:    true, interval: time.Second, feedInterval: time.Second, allowPrivate: true,
	})
	if err != nil || ctx.Err() == context.DeadlineExceeded {
		t.Errorf("%v, %v; %s", err, ctx.Err(), &logs)
	}
	for _, line := range []string{`"an old toot"  newest, of `, `"a new toot"  `, `"item 2"  newest`, `"item 2"`} {
		if strings.Count(out.String(), line) != 1 {
			t.Errorf("output:\n%s\nwant %q in it, once", &out, line)
		}
	}
}

// An account that is not there is told at once, before any is watched.
func TestWatchNobody(t *testing.T) {
	server := fakeServer(t, new(atomic.Bool))
	var out, logs bytes.Buffer
	err := watch(t.Context(), process{Env: noEnv, Out: &out, Logs: &logs}, watchConfig{
		accounts: []string{"mastodon:" + server.URL + "/@gone", "mastodon:" + server.URL + "/@ann"}, interval: time.Minute,
	})
	if status(err) != 1 || !strings.Contains(err.Error(), `account "mastodon:gone@`) || strings.Contains(err.Error(), "ann@") || strings.Contains(logs.String(), "watching") {
		t.Errorf("status %d, error %v, log %q", status(err), err, &logs)
	}
}

// When every poll of an account failed, it was not watched: that is a failure.
func TestWatchNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w.WriteHeader(http.StatusInternalServerError); calls.Add(1) == 3 { // a poll has failed, and is made again
			cancel()
		}
	}))
	defer server.Close()
	var logs heard.Output
	err := watch(ctx, process{Env: noEnv, Out: io.Discard, Logs: &logs}, watchConfig{accounts: []string{"mastodon:" + server.URL + "/@ann"}, interval: time.Second})
	if status(err) != 1 || !strings.Contains(err.Error(), "nothing was watched of mastodon:ann@"+strings.TrimPrefix(server.URL, "http://")) || !strings.Contains(logs.String(), "cannot be read now") {
		t.Errorf("status %d, error %v, log %s", status(err), err, &logs)
	}
}

// When posts cannot be printed any more, there is nothing left to do: the command ends and says
// why.
func TestWatchWithoutOutput(t *testing.T) {
	t.Parallel()
	var fresh atomic.Bool
	server := fakeServer(t, &fresh)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var logs heard.Output
	logs.On("watching ", func() { fresh.Store(true) })
	err := watch(ctx, process{Env: noEnv, Out: full{}, Logs: &logs}, watchConfig{accounts: []string{"mastodon:" + server.URL + "/@ann"}, interval: time.Second})
	if status(err) != 1 || !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "posts cannot be printed: ") || ctx.Err() != nil {
		t.Errorf("status %d, error %v, %v, log %s", status(err), err, ctx.Err(), &logs)
	}
}

func TestPlain(t *testing.T) {
	if got := shortened(plain("a\x1b[31m\nb\u202e c\u009bd 👩\u200d🚀  "), 100); got != "a [31m b c d 👩\u200d🚀" {
		t.Errorf("%q", got)
	}
	if got := shortened("äöü", 2); got != "ä…" {
		t.Errorf("%q", got)
	}
}
