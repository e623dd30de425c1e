package receive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestVerifierHandler(t *testing.T) {
	b := delivertest.Body(nil)
	other := []byte(`{"event":"tweet.deleted"}`)
	for _, row := range []struct {
		name   string
		method string
		body   io.Reader
		header http.Header
		fails  error // of take
		late   time.Duration
		status int
		taken  int
	}{
		{"genuine", "POST", bytes.NewReader(b), signed(b, secret), nil, 0, 204, 1},
		{"genuine, and take fails", "POST", bytes.NewReader(b), signed(b, secret), errors.New("canary"), 0, 500, 1},
		{"forged", "POST", bytes.NewReader(b), signed(b, newSecret), nil, 0, 401, 0},
		{"not signed", "POST", bytes.NewReader(b), http.Header{}, nil, 0, 401, 0},
		{"stale", "POST", bytes.NewReader(b), signed(b, secret), nil, time.Hour, 401, 0},
		{"another body", "POST", bytes.NewReader(append([]byte(" "), b...)), signed(b, secret), nil, 0, 401, 0},
		{"genuine and unknown", "POST", bytes.NewReader(other), signed(other, secret), nil, 0, 400, 0},
		{"another method", "PUT", bytes.NewReader(b), signed(b, secret), nil, 0, 405, 0},
		{"no body", "GET", nil, signed(nil, secret), nil, 0, 405, 0},
		{"a body too long", "POST", strings.NewReader(strings.Repeat("x", 1<<20+1)), signed(b, secret), nil, 0, 413, 0},
		{"an endless body", "POST", endless{}, signed(b, secret), nil, 0, 413, 0},
		{"a body that breaks off", "POST", iotest.ErrReader(io.ErrUnexpectedEOF), signed(b, secret), nil, 0, 400, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			var taken []receive.Received
			h := verifier(t, receive.Config{Now: func() time.Time { return sentAt.Add(row.late) }}).Handler(
				func(ctx context.Context, r receive.Received) error {
					taken = append(taken, r)
					return row.fails
				})
			req := httptest.NewRequest(row.method, "/hook", row.body)
			req.Header = row.header
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != row.status || len(taken) != row.taken {
				t.Errorf("status %d, %d taken; want %d, %d", w.Code, len(taken), row.status, row.taken)
			}
			if strings.Contains(w.Body.String(), "canary") {
				t.Error("the sender is told what failed")
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// From the sender to take, over HTTP.
func TestVerifierHandlerTakesWhatWebhookSends(t *testing.T) {
	var got receive.Received
	server := httptest.NewServer(verifier(t, receive.Config{RequireTimestamp: true, Now: time.Now}).Handler(
		func(_ context.Context, r receive.Received) error { got = r; return nil }))
	defer server.Close()
	hook := newSender(t, webhook.Config{AllowPrivate: true})
	defer hook.Close()
	d := delivery(server.URL)
	d.Event = &deliver.Event{Body: withText("Zażółć 🚀")}
	if r := hook.Send(t.Context(), d); !r.OK || r.StatusCode != 204 {
		t.Fatalf("%+v", r)
	}
	if got.DeliveryID != "dlv_1" || got.WebhookID != "whk_1" || got.TweetText != "Zażółć 🚀" || time.Since(got.SentAt) > time.Minute {
		t.Errorf("received %+v", got)
	}
}
