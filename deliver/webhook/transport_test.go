package webhook_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// stuckBody gives a byte, and then nothing until it is closed.
type stuckBody struct {
	first  bool
	closed chan struct{}
}

func (b *stuckBody) Read(p []byte) (int, error) {
	if !b.first {
		b.first = true
		p[0] = 'x'
		return 1, nil
	}
	<-b.closed
	return 0, io.ErrClosedPipe
}

func (b *stuckBody) Close() error {
	close(b.closed)
	return nil
}

// A body of a transport that does not know the context holds up no attempt.
func TestTransportBodyThatIgnoresTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := webhook.Must(webhook.Config{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: &stuckBody{closed: make(chan struct{})}}, nil
		})})
		began := time.Now()
		r := hook.Send(context.Background(), delivery("https://example.com/"))
		if !r.OK || r.ResponsePreview != "x" || time.Since(began) != 10*time.Second {
			t.Errorf("%+v after %s, want what was read until 10s", r, time.Since(began))
		}
	})
}

// A transport may keep a request for longer than the round trip, and repeat its body.
func TestTransportKeepsARequest(t *testing.T) {
	var kept []*http.Request
	hook := webhook.Must(webhook.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		kept = append(kept, r)
		return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
	})})
	for _, text := range []string{"first", "second"} {
		d := delivery("https://example.com/")
		d.ID, d.Event = text, &deliver.Event{Body: []byte(text)}
		hook.Send(t.Context(), d)
	}
	for i, want := range []string{"first", "second"} {
		first, err := io.ReadAll(kept[i].Body)
		again, _ := kept[i].GetBody()
		second, _ := io.ReadAll(again)
		if id := kept[i].Header.Get(deliver.HeaderDeliveryID); err != nil || id != want || string(first) != want || string(second) != want {
			t.Errorf("delivery %q with the body %q and again %q, want %s", id, first, second, want)
		}
	}
}
