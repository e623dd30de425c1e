package main

import (
	"context"
	"net/http"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
)

func init() {
	sendingBugs["takes what the handler refuses as delivered"] = func(c *streamwatch.Config) {
		take := c.OnEvent
		c.OnEvent = func(ctx context.Context, e deliver.Event) error {
			_ = take(ctx, e) // the fault
			return nil
		}
	}
	sendingBugs["calls the handler twice"] = func(c *streamwatch.Config) {
		take := c.OnEvent
		c.OnEvent = func(ctx context.Context, e deliver.Event) error {
			if err := take(ctx, e); err != nil {
				return err
			}
			return take(ctx, e)
		}
	}
	sendingBugs["sends what was accepted twice"] = func(c *streamwatch.Config) {
		c.Webhook.Transport = doublingTransport{c.Webhook.Transport}
	}
}

// doublingTransport sends again what was accepted. It gives the first answer: a second
// that failed would open the endpoint's circuit breaker more often than a run waits for.
type doublingTransport struct{ http.RoundTripper }

func (d doublingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	again := r.Clone(r.Context())
	if again.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	if second, err := d.RoundTripper.RoundTrip(again); err == nil {
		second.Body.Close()
	}
	return resp, nil
}
