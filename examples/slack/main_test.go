package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPostsComeToTheChannel(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, ""); err != nil {
		t.Fatal(err, out.String())
	}
	for n := 1; n <= posts; n++ {
		want := fmt.Sprintf(`*@nasa*: post %d: Earth &amp; Moon &lt;3\n<https://`, n)
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%s is not there once", want)
		}
	}
	if want := "3 posts in the channel, 4 attempts\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q is not the end of:\n%s", want, out.String())
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
		name  string
		url   string
		body  []byte
		guard webhook.Guard
		want  deliver.Result
	}{
		{"busy", fake, event.Body, webhook.Guard{AllowPrivate: true},
			deliver.Result{StatusCode: 429, Error: "status 429", ResponsePreview: "rate_limited\n", RetryAfter: 1e9}},
		{"then not", fake, event.Body, webhook.Guard{AllowPrivate: true}, deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "ok"}},
		{"unknown webhook", fake + "x", event.Body, webhook.Guard{AllowPrivate: true},
			deliver.Result{StatusCode: 404, Error: "status 404", ResponsePreview: "no_service\n", Permanent: true}},
		{"a private address", fake, event.Body, webhook.Guard{}, deliver.Result{Error: "address not allowed"}},
		{"not an event", fake, []byte(`{}`), webhook.Guard{}, deliver.Result{Permanent: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSender("http", &row.guard)
			defer s.close()
			got := s.Send(t.Context(), &deliver.Delivery{Event: &deliver.Event{Body: row.body}, Endpoint: deliver.Endpoint{URL: row.url}})
			if row.name == "not an event" {
				got.Error = ""
			}
			if got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
