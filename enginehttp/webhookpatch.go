package enginehttp

import (
	"maps"
	"slices"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/secret"
)

// webhookHealth shows whether deliveries to a webhook succeed.
type webhookHealth struct {
	State          string  `json:"state"` // ok, failing or disabled
	FailingSince   *string `json:"failing_since"`
	DisabledReason *string `json:"disabled_reason"`
}

func newWebhookHealth(e *deliver.Endpoint) webhookHealth {
	h := webhookHealth{State: "ok"}
	if !e.FailingSince.IsZero() {
		since := timeText(e.FailingSince)
		h.State, h.FailingSince = "failing", &since
	}
	if e.Status == deliver.EndpointDisabled {
		h.State, h.DisabledReason = "disabled", nullable(e.StatusReason)
	}
	return h
}

// webhookDeliveries counts the deliveries to a webhook.
type webhookDeliveries struct {
	Waiting         int64   `json:"waiting"`
	OldestWaitingAt *string `json:"oldest_waiting_at"`
	// Delivered and Failed are those that were made since then.
	Since     string         `json:"since"`
	Delivered int64          `json:"delivered"`
	Failed    int64          `json:"failed"`
	LastError *attemptRecord `json:"last_error"`
}

func newWebhookDeliveries(h streamwatch.EndpointHealth) *webhookDeliveries {
	d := &webhookDeliveries{Waiting: h.Waiting, Since: timeText(h.Since), Delivered: h.Delivered, Failed: h.Failed}
	if h.Waiting > 0 {
		d.OldestWaitingAt = nullable(timeText(h.Oldest))
	}
	if !h.LastError.At.IsZero() {
		r := newAttemptRecord(&h.LastError)
		d.LastError = &r
	}
	return d
}

// patchWebhook makes all changes of a request or none. If the webhook's URL is the webhook_url
// of its monitor or rule, patchWebhook changes that, too.
func (h webhookAPI) patchWebhook(c *call) (reply, error) {
	f, id := c.form, c.PathValue("webhook_id")
	u := endpoints.Update{URL: f.text("url"), Paused: field[bool](f, "paused", "true or false")}
	if given := field[map[string]*string](f, "headers", headersAllowed); given != nil {
		u.Headers = make([]deliver.Header, 0, len(*given))
		for _, name := range slices.Sorted(maps.Keys(*given)) {
			value := (*given)[name]
			if value == nil {
				f.refuse("headers", headersAllowed)
				break
			}
			u.Headers = append(u.Headers, deliver.Header{Name: name, Value: secret.Value(*value)})
		}
	}
	if f.err != nil {
		return reply{}, f.err
	}
	ctx, endpoints := c.Context(), h.engine.Endpoints()
	e, err := endpoints.Get(ctx, c.who.Owner, id)
	if err != nil {
		return reply{}, err
	}
	if c.version != 0 && e.Version != c.version {
		return reply{}, unmatched
	}
	u.Version = c.version
	e, err = endpoints.Update(ctx, c.who.Owner, id, u)
	return h.record(c, e, webhookError(err))
}

const headersAllowed = "an object of header names and values, which are strings"
