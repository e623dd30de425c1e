package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// transport makes attempts by a user's RoundTripper. Without an http.Client, no redirect is
// followed and no cookie kept.
type transport struct{ http.RoundTripper }

// exchange implements exchanger.
func (t transport) exchange(ctx context.Context, p *prepared, d *deliver.Delivery, now time.Time, traceparent string) (deliver.Result, error) {
	resp, err := t.RoundTrip(p.request(ctx, d, now, traceparent))
	if err != nil {
		return deliver.Result{}, err
	}
	// Reading a body need not end with the context.
	stop := context.AfterFunc(ctx, func() { resp.Body.Close() })
	r, _ := result(resp)
	if stop() {
		resp.Body.Close()
	}
	return r, nil
}

func (t transport) closeIdle() {}
