package webhook_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

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
