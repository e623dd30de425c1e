package feed_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

// A feed whose hub pushes. The publisher and the hub here are stand-ins on this machine,
// which AllowPrivate and Transport are for; the engine calls Timeline and Stream.
func ExampleWebSub() {
	hub := newExampleHub()
	defer hub.Close()
	mux := http.NewServeMux()
	public := httptest.NewServer(mux)
	defer public.Close()

	feeds, err := feed.New(feed.Config{AllowPrivate: true, Transport: hub.Client().Transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	hubs, err := feed.NewWebSub(feed.WebSubConfig{
		Fetcher:  feeds,
		Callback: public.URL + "/websub",
		Secret:   "32 random bytes, kept over restarts",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux.Handle("/websub/", hubs)

	account := hub.URL + "/feed.json"
	if _, err := feeds.Timeline(context.Background(), fetcher.TimelineQuery{Username: account}); err != nil {
		fmt.Println(err)
		return
	}
	enough := errors.New("enough")
	err = hubs.Stream(context.Background(), fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: account}}}, func(s fetcher.Signal) error {
		if s.Kind != fetcher.SignalGap {
			return nil
		}
		fmt.Println("feeds to be polled:", len(s.Accounts))
		return enough
	})
	fmt.Println(errors.Is(err, enough))
	// Output:
	// feeds to be polled: 1
	// true
}

// newExampleHub publishes a feed and is its hub, which verifies each subscription and
// pushes to it once.
func newExampleHub() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /feed.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", `</hub>; rel="hub", </feed.json>; rel="self"`)
		io.WriteString(w, `{"version": "https://jsonfeed.org/version/1.1", "title": "A feed", "items": []}`)
	})
	mux.HandleFunc("POST /hub", func(w http.ResponseWriter, r *http.Request) {
		callback, topic, key := r.FormValue("hub.callback"), r.FormValue("hub.topic"), r.FormValue("hub.secret")
		w.WriteHeader(http.StatusAccepted)
		resp, err := http.Get(callback + "?" + url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topic},
			"hub.challenge": {"4711"}, "hub.lease_seconds": {"864000"}}.Encode())
		if err != nil {
			return
		}
		resp.Body.Close()
		body := `{"version": "https://jsonfeed.org/version/1.1", "title": "A feed",
			"items": [{"id": "1", "title": "Hello from the hub", "date_published": "2026-03-01T12:00:00Z"}]}`
		sum := hmac.New(sha256.New, []byte(key))
		io.WriteString(sum, body)
		push, err := http.NewRequest(http.MethodPost, callback, strings.NewReader(body))
		if err != nil {
			return
		}
		push.Header.Set("Content-Type", "application/feed+json")
		push.Header.Set("X-Hub-Signature", "sha256="+hex.EncodeToString(sum.Sum(nil)))
		if resp, err := http.DefaultClient.Do(push); err == nil {
			resp.Body.Close()
		}
	})
	return httptest.NewTLSServer(mux)
}
