package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/heard"
)

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                              "",
		"-posts 10 -accounts 2 -json":   "",
		"-interval 1s":                  "",
		"-mastodon https://h/@a -since": "",
		"-mastodon https://h/@a,https://h/@b -token t -webhook https://x -secret s": "",
		"-bluesky a.b -pds https://p -for 5s":                                       "",
		"-push -probe":                                                              "",
		"-bluesky a.b -stream wss://s/subscribe":                                    "",
		"-bluesky a.b -push":                                                        "-push \"true\" is not allowed: it needs the demonstration",
		"-mastodon https://h/@a -probe":                                             "it needs the demonstration",
		"-mastodon https://h/@a -stream wss://s":                                    "-stream \"wss://s\" is not allowed: it needs -bluesky",
		"-posts 0":                                                                  "-posts 0 is not allowed: want 1 to 100000",
		"-accounts 20000":                                                           "-accounts 20000",
		"-interval 1ms":                                                             "-interval 1ms is not allowed: want 50ms to 10s",
		"-interval 1m":                                                              "want 50ms to 10s for the demonstration",
		"-mastodon https://h/@a -interval 1s":                                       "want 5s to 1h0m0s for real accounts",
		"-since":                                                                    "-since \"true\" is not allowed: it needs real accounts",
		"-webhook https://x":                                                        "it needs real accounts",
		"-mastodon https://h/@a -secret x":                                          "-secret *** is not allowed: it needs -webhook",
		"-mastodon https://h/@a -posts 5":                                           "it needs the demonstration",
		"-mastodon https://h/@a -bluesky-host x":                                    "it needs -bluesky",
		"-bluesky a -pds https://p -bluesky-host x":                                 "one of -pds and -bluesky-host",
		"-mastodon ,":                                                               "it is empty",
		"-for -1s -bluesky a":                                                       "-for -1s",
		"stray":                                                                     `argument "stray"`,
		"-nonsense":                                                                 "-nonsense",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	var help bytes.Buffer
	if _, err := parse([]string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-mastodon") {
		t.Errorf("-h: %v, %q", err, help.String())
	}
}

func TestOpenRefusesWhatIsNoAccount(t *testing.T) {
	for _, url := range []string{"foo", "https://h/user", "https://h/@", "https://h/@a/b", "ftp://h/@a", "https://me:pw@h/@a", "@h", "a@"} {
		if _, err := open(options{mastodon: list{url}}); err == nil || !strings.Contains(err.Error(), "want https://host/@user") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, raw := range []string{"https://bsky.app/about", "https://bsky.app/profile/", "https://bsky.app/profile/x/post/y", "@"} {
		if _, err := open(options{bluesky: list{raw}}); err == nil || !strings.Contains(err.Error(), "-bluesky") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := open(options{bluesky: list{"x"}, pds: "nonsense"}); err == nil || !strings.Contains(err.Error(), `-pds "nonsense"`) {
		t.Errorf("-pds nonsense: %v", err)
	}
	if _, err := open(options{bluesky: list{"x.bsky.social"}, stream: "https://s"}); err == nil || !strings.Contains(err.Error(), `-stream "https://s" is not allowed`) {
		t.Errorf("-stream https://s: %v", err)
	}
	all, err := open(options{mastodon: list{"https://h/@a/", "https://h/@A", "@a@h", "a@i"}, bluesky: list{"@x.bsky.social", "https://bsky.app/profile/x.bsky.social", "https://bsky.app/profile/did:plc:x"}})
	if err != nil || strings.Join(all.names, " ") != "a@h a@i x.bsky.social did:plc:x" {
		t.Errorf("%v, %v: each account once, with its host", all, err)
	}
}

func TestSummaryEndsWithOneJSONObject(t *testing.T) {
	lines := &ticker{w: io.Discard}
	for ms := 1; ms <= 100; ms++ {
		lines.detected(deliver.Event{Latency: time.Duration(ms) * time.Millisecond, TextPreview: "a\x1b[31mb\nc"})
	}
	var out bytes.Buffer
	(&summary{Posted: 100, Latency: lines.latencies()}).print(&out, true)
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(all[len(all)-1]), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"posted", "detected", "delivered", "verified", "lost", "duplicated", "latency_ms"} {
		if _, ok := got[key]; !ok {
			t.Errorf("the object lacks %s", key)
		}
	}
	if l := got["latency_ms"].(map[string]any); l["p50"] != 50.0 || l["p95"] != 95.0 || l["p99"] != 99.0 || l["max"] != 100.0 {
		t.Errorf("latencies %v", l)
	}
	if s := oneLine("a\x1b[31mb\nc", 20); s != `"a [31mb c"` {
		t.Errorf("oneLine = %s: control characters must not reach the terminal", s)
	}
}

// An account that does not exist is told once, and fails the run, also when it
// is watched beside one that is read.
func TestAccountThatIsNotThere(t *testing.T) {
	t.Parallel()
	var end context.CancelFunc // of the run, once its account was polled
	var reads atomic.Int32
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.FormValue("acct") == "there":
			fmt.Fprint(w, `{"id":"1","username":"there","acct":"there"}`)
		case strings.HasSuffix(r.URL.Path, "/1/statuses"):
			fmt.Fprint(w, `[]`)
			if reads.Add(1) == 3 { // -since, a poll, and another when that has ended
				end()
			}
		default:
			http.Error(w, `{"error":"Record not found"}`, http.StatusNotFound)
		}
	}))
	defer platform.Close()
	for name, c := range map[string]struct {
		accounts []string
		fails    bool
	}{
		"not there":             {[]string{"gone"}, true},
		"one of two is":         {[]string{"there", "gone"}, true},
		"there, without a post": {[]string{"there"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end = func() {}
			if !c.fails {
				end = cancel
			}
			reads.Store(0)
			o := options{since: true, interval: time.Second}
			for _, a := range c.accounts {
				o.mastodon = append(o.mastodon, platform.URL+"/@"+a)
			}
			var out heard.Output
			out.On("account fails", cancel)
			_, err := watch(ctx, o, &out)
			if c.fails != (err != nil) || c.fails && (!strings.Contains(err.Error(), "gone@") || strings.Contains(err.Error(), "there@")) {
				t.Errorf("error %v, want one: %t", err, c.fails)
			}
			told := 0
			if c.fails {
				told = 1
			}
			if n := strings.Count(out.String(), "Record not found"); n != told {
				t.Errorf("told %d times that an account is not found, want %d:\n%s", n, told, out.String())
			}
		})
	}
}

// What is posted while the accounts are read for -since is printed, once: by an account
// that was read before, and by the one whose newest post it is.
func TestSinceFromTheStart(t *testing.T) {
	t.Parallel()
	var published atomic.Value // when both posted
	var reads atomic.Int32     // of the second account
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var both sync.WaitGroup
	both.Add(2)
	go func() { both.Wait(); cancel() }()
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if name := r.FormValue("acct"); name != "" {
			fmt.Fprintf(w, `{"id":%q,"username":%q,"acct":%q}`, name, name, name)
			return
		}
		name := strings.Split(r.URL.Path, "/")[4]
		if name == "bob" {
			published.CompareAndSwap(nil, time.Now())
			switch reads.Add(1) {
			case 1: // the answer takes so long that the post is of another second
				defer func() { <-time.After(1500 * time.Millisecond) }()
			case 4: // what the polls before have found was printed
				both.Done()
			}
		}
		at, ok := published.Load().(time.Time)
		if !ok {
			fmt.Fprint(w, `[]`)
			return
		}
		fmt.Fprintf(w, `[{"id":"1%d","created_at":%q,"content":"<p>a toot of %s</p>","url":"https://h.example/1","visibility":"public","account":{"id":%q,"username":%q,"acct":%q}}]`,
			len(name)+int(name[0]), at.UTC().Format("2006-01-02T15:04:05.000Z"), name, name, name, name)
	}))
	defer platform.Close()
	var out heard.Output
	out.On("a toot of ann", both.Done)
	o := options{since: true, interval: time.Second, mastodon: list{platform.URL + "/@ann", platform.URL + "/@bob"}}
	sum, err := watch(ctx, o, &out)
	if err != nil || ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("%v, %v\n%s", err, ctx.Err(), out.String())
	}
	for _, text := range []string{"a toot of ann", "a toot of bob"} {
		if strings.Count(out.String(), text) != 1 {
			t.Errorf("output:\n%s\nwant %q in it, once", out.String(), text)
		}
	}
	if sum.Detected != 2 {
		t.Errorf("detected %d, want both", sum.Detected)
	}
}
