package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The second start delivers the last post alone, by the monitor of the first.
func TestPostsComeToTheChannel(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatal(err, out.String())
	}
	for _, post := range []string{"Earth &amp; Moon &lt;3", "Lift-off", "Landed"} {
		if want := `"*@nasa*: ` + post + `\n<https://`; strings.Count(out.String(), want) != 1 {
			t.Errorf("%s is not there once in:\n%s", want, out.String())
		}
	}
	for _, want := range []string{
		"2 posts in the channel, 3 attempts, version 1 of the monitor\n",
		"1 posts in the channel, 1 attempts, version 1 of the monitor\n",
	} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%q is not there once in:\n%s", want, out.String())
		}
	}
}

func TestGivenUp(t *testing.T) {
	err := run(t.Context(), io.Discard, "slack://hooks.slack.com:99/services/T0/B0/secret")
	if want := "a delivery was given up: url not allowed"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestSenderJudges(t *testing.T) {
	fake, stop, err := startFake(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	event := &deliver.Event{Body: []byte(`{"event":"tweet.detected","monitor_id":"m","monitor_name":"m","tweet_id":"1","author_username":"a",` +
		`"tweet_text":"t","tweet_url":"https://example.com/","tweet_published_at":"2026-01-02T03:04:05.000Z","detected_at":"2026-01-02T03:04:05.000Z","latency_ms":0,"tweet_data":{}}`)}
	for _, row := range []struct {
		name string
		url  string
		body []byte
		own  bool // a Slack on this machine is allowed
		want deliver.Result
	}{
		{"busy", fake, event.Body, true,
			deliver.Result{StatusCode: 429, Error: "status 429", ResponsePreview: "rate_limited\n", RetryAfter: 1e9}},
		{"then not", fake, event.Body, true, deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "ok"}},
		{"unknown webhook", fake + "x", event.Body, true,
			deliver.Result{StatusCode: 404, Error: "status 404", ResponsePreview: "no_service\n", Permanent: true}},
		{"a private address", fake, event.Body, false, deliver.Result{Permanent: true, Error: "url not allowed"}},
		{"not an event", fake, []byte(`{}`), false, deliver.Result{Permanent: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			hooks, err := webhook.New(webhook.Config{AllowPrivate: row.own})
			if err != nil {
				t.Fatal(err)
			}
			defer hooks.Close()
			s := sender{hooks, map[bool]string{true: "http", false: "https"}[row.own]}
			got := s.Send(t.Context(), &deliver.Delivery{ID: "dlv_1", Event: &deliver.Event{Body: row.body}, Endpoint: deliver.Endpoint{URL: row.url, Secret: "s"}})
			if row.name == "not an event" {
				got.Error = ""
			}
			if got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
