package enginehttp

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
)

// logs is a page of a log.
type logs[T any] struct {
	Logs     []T `json:"logs"`
	Total    int `json:"total"`
	Page     int `json:"page"`
	PageSize int `json:"page_size"`
}

// Where a delivery went, which is what its status says once it arrived.
const (
	toWebhook   = "webhook_delivered"
	toWebSocket = "websocket_delivered"
	toHandler   = "handler_delivered"
)

func destination(endpointID string) string {
	if wshub.IsDelivery(endpointID) {
		return toWebSocket
	}
	if _, ok := deliver.HandlerName(endpointID); ok {
		return toHandler
	}
	return toWebhook
}

// states are the values of delivery_status.
var states = map[string]deliver.State{
	"":                 "",
	"pending":          deliver.StatePending,
	"webhook_retrying": deliver.StateRetrying,
	"webhook_failed":   deliver.StateFailed,
	toWebhook:          deliver.StateDelivered,
	toWebSocket:        deliver.StateDelivered,
	toHandler:          deliver.StateDelivered,
}

func deliveryStatus(d *deliver.Delivery) string {
	switch d.State {
	case deliver.StatePending:
		return "pending"
	case deliver.StateRetrying:
		return "webhook_retrying"
	case deliver.StateDelivered:
		return destination(d.EndpointID)
	}
	return "webhook_failed"
}

// Latencies up to these get the badge.
const (
	greenLatency  = time.Second
	yellowLatency = 5 * time.Second
)

func latencyBadge(d time.Duration) string {
	switch {
	case d <= greenLatency:
		return "green"
	case d <= yellowLatency:
		return "yellow"
	}
	return "red"
}

// deliveryRecord is a line of the delivery log.
type deliveryRecord struct {
	ID                string          `json:"id"`
	EventID           string          `json:"event_id"`
	MonitorID         *string         `json:"monitor_id,omitempty"`
	MonitorName       *string         `json:"monitor_name,omitempty"`
	RuleID            *string         `json:"rule_id,omitempty"`
	RuleTag           *string         `json:"rule_tag,omitempty"`
	WebhookID         *string         `json:"webhook_id"`
	TweetID           string          `json:"tweet_id"`
	AuthorUsername    string          `json:"author_username"`
	TweetTextPreview  string          `json:"tweet_text_preview"`
	TweetURL          string          `json:"tweet_url"`
	TweetPublishedAt  string          `json:"tweet_published_at"`
	DetectedAt        string          `json:"detected_at"`
	LatencyMS         int64           `json:"latency_ms"`
	LatencyBadge      string          `json:"latency_badge"`
	DeliveryStatus    string          `json:"delivery_status"`
	WebhookStatusCode *int            `json:"webhook_status_code"`
	WebhookAttempts   int             `json:"webhook_attempts"`
	Attempts          []attemptRecord `json:"attempts"`
}

type attemptRecord struct {
	At              string  `json:"at"`
	StatusCode      *int    `json:"status_code"`
	DurationMS      int64   `json:"duration_ms"`
	Error           *string `json:"error"`
	ResponsePreview string  `json:"response_preview"`
}

func newDeliveryRecord(e *deliver.LogEntry) deliveryRecord {
	ev := e.Event
	r := deliveryRecord{
		ID: e.ID, EventID: ev.ID, TweetID: ev.TweetID, AuthorUsername: ev.AuthorUsername, TweetTextPreview: ev.TextPreview, TweetURL: ev.TweetURL,
		TweetPublishedAt: timeText(ev.PublishedAt), DetectedAt: timeText(ev.DetectedAt), LatencyMS: ev.Latency.Milliseconds(),
		LatencyBadge: latencyBadge(ev.Latency), DeliveryStatus: deliveryStatus(&e.Delivery),
		WebhookAttempts: len(e.Log), Attempts: make([]attemptRecord, len(e.Log)),
	}
	if ev.Source.Kind == deliver.SourceRule {
		r.RuleID, r.RuleTag = &ev.Source.ID, &ev.Source.Name
	} else {
		r.MonitorID, r.MonitorName = &ev.Source.ID, &ev.Source.Name
	}
	if destination(e.EndpointID) == toWebhook {
		r.WebhookID = &e.EndpointID
	}
	for i := range e.Log {
		a := &e.Log[i]
		r.Attempts[i] = attemptRecord{At: timeText(a.At), DurationMS: a.Duration.Milliseconds(), Error: nullable(a.Error), ResponsePreview: a.ResponsePreview}
		if a.StatusCode != 0 {
			r.Attempts[i].StatusCode = &a.StatusCode
			r.WebhookStatusCode = &a.StatusCode
		}
	}
	return r
}

// deliveryLogs is the log of all that was found for the key's owner, or for one
// of the monitors.
func (h *Handler) deliveryLogs(c *call) (reply, error) {
	p := c.params()
	return h.logPage(c, p, p.id("monitor_id"))
}

func (h *Handler) logPage(c *call, p *params, source string) (reply, error) {
	q := deliver.LogQuery{Owner: c.who.Owner, SourceID: source, AuthorUsername: p.id("author_username"), Asc: p.oneOf("sort", "desc", "asc") == "asc"}
	status := p.oneOf("delivery_status", "", "pending", toWebSocket, toWebhook, "webhook_retrying", "webhook_failed", toHandler)
	q.State = states[status]
	q.Page, q.PageSize = p.page()
	if p.err != nil {
		return reply{}, p.err
	}
	var got deliver.LogPage
	var err error
	if q.State == deliver.StateDelivered {
		got, err = h.delivered(c.Context(), q, status)
	} else {
		got, err = h.engine.Log().Deliveries(c.Context(), q)
	}
	if err != nil {
		return reply{}, err
	}
	out := logs[deliveryRecord]{Logs: make([]deliveryRecord, len(got.Entries)), Total: got.Total, Page: q.Page, PageSize: q.PageSize}
	for i := range got.Entries {
		out.Logs[i] = newDeliveryRecord(&got.Entries[i])
	}
	return reply{value: out}, nil
}

const (
	scanPage  = 1000
	scanPages = 10 // so that one request reads 10,000 entries at most
)

// delivered looks through the log for deliveries of one destination, which the
// log does not tell apart: among the first 10,000 in the order asked for.
func (h *Handler) delivered(ctx context.Context, q deliver.LogQuery, where string) (deliver.LogPage, error) {
	skip, size := (q.Page-1)*q.PageSize, q.PageSize
	q.PageSize = scanPage
	var out deliver.LogPage
	for q.Page = 1; q.Page <= scanPages; q.Page++ {
		got, err := h.engine.Log().Deliveries(ctx, q)
		if err != nil {
			return out, err
		}
		full := len(got.Entries) == scanPage
		list := slices.DeleteFunc(got.Entries, func(e deliver.LogEntry) bool { return destination(e.EndpointID) != where })
		from := min(max(0, skip-out.Total), len(list))
		to := min(from+size-len(out.Entries), len(list))
		out.Entries = append(out.Entries, list[from:to]...)
		out.Total += len(list)
		if !full {
			break
		}
	}
	return out, nil
}

func (h *Handler) redeliver(c *call) (reply, error) {
	e, err := h.engine.Endpoints().Redeliver(c.Context(), c.who.Owner, c.PathValue("delivery_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{value: newDeliveryRecord(&e)}, nil
}

type recoverRecord struct {
	WebhookID  string `json:"webhook_id"`
	Redelivers int    `json:"redelivers"` // deliveries that are sent anew
}

func (h *Handler) recoverWebhook(c *call) (reply, error) {
	const allowed = "an ISO 8601 time, such as 2026-11-21T09:00:00Z"
	since, err := time.Parse(time.RFC3339Nano, c.form.need("since", allowed))
	if err != nil {
		c.form.refuse("since", allowed)
	}
	if c.form.err != nil {
		return reply{}, c.form.err
	}
	id := c.PathValue("webhook_id")
	n, err := h.engine.Endpoints().Recover(c.Context(), c.who.Owner, id, since)
	if err != nil {
		return reply{}, err
	}
	return reply{value: recoverRecord{WebhookID: id, Redelivers: n}}, nil
}
