package enginehttp

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// logs is a page of a log. Page and Offset are null on a page found by a cursor, because the
// number of records before it is not known.
type logs[T any] struct {
	Logs       []T    `json:"logs"`
	Total      int    `json:"total"`
	Page       *int   `json:"page"`
	PageSize   int    `json:"page_size"`
	Limit      int    `json:"limit"`
	Offset     *int64 `json:"offset"`
	NextCursor string `json:"next_cursor"` // "" at the end
}

// readLog reads the page of a log that the request selects by page, offset or cursor. It sets
// all fields of out except the records, and returns the items to make the records from.
func readLog[T, R any](p *params, cs cursors, read func(page, size int, cursor string) (items []R, total int, next string, err error)) (out logs[T], items []R, err error) {
	pg, place := p.paging(), p.cursor(cs)
	for _, name := range []string{"page", "offset"} {
		if place != "" && p.values.Has(name) {
			p.refuse(name, p.values.Get(name), "either "+name+" or cursor, not both")
		}
	}
	if p.err != nil {
		return out, nil, p.err
	}
	out.PageSize, out.Limit = pg.PageSize, pg.Limit
	var next string
	if place != "" {
		if items, out.Total, next, err = read(0, pg.PageSize, place); err == nil {
			err = out.goesOn(cs, next)
		}
		return out, items, err
	}
	out.Page, out.Offset = &pg.Page, &pg.Offset
	items, out.Total, next, err = read(pg.Page, pg.PageSize, "")
	// If the offset is not a multiple of the page size, read the rest from the next page.
	if skip := int(pg.Offset % int64(pg.PageSize)); err == nil && skip > 0 {
		items = slices.Clip(items[min(skip, len(items)):])
		if next != "" {
			var more []R
			more, out.Total, next, err = read(0, skip, next)
			items = append(items, more...)
		}
	}
	if err == nil {
		err = out.goesOn(cs, next)
	}
	return out, items, err
}

// goesOn sets NextCursor. It contains next, the store's cursor for the next page.
func (l *logs[T]) goesOn(cs cursors, next string) (err error) {
	if l.NextCursor, err = cs.sign(next); err != nil {
		return &failure{status: http.StatusInternalServerError, text: "the store returned a cursor that is too long: the rest of the log cannot be read", cause: err}
	}
	return nil
}

// instant formats a time for the scope of a cursor.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// deliveryStatus is the delivery_status of a delivery: pending, or how it is sent and its state,
// such as websocket_failed for an event that no client took.
func deliveryStatus(d *deliver.Delivery) string {
	if d.State == deliver.StatePending {
		return string(d.State)
	}
	return string(deliver.ViaOf(d.EndpointID)) + "_" + string(d.State)
}

// statuses are all values of delivery_status.
var statuses = func() (all []string) {
	all = []string{string(deliver.StatePending)}
	for _, via := range []deliver.Via{deliver.ViaWebhook, deliver.ViaWebSocket, deliver.ViaHandler} {
		for _, state := range []deliver.State{deliver.StateDelivered, deliver.StateRetrying, deliver.StateFailed} {
			all = append(all, string(via)+"_"+string(state))
		}
	}
	return all
}()

// filterByStatus restricts a query to a delivery_status; "" means all.
func filterByStatus(q *deliver.LogQuery, status string) {
	via, state, ok := strings.Cut(status, "_")
	if !ok {
		via, state = "", status
	}
	q.Via, q.State = deliver.Via(via), deliver.State(state)
}

// The highest latency for each color of the badge.
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

// reasonDeleted is the delivery_status_reason of a delivery that ended because its webhook, or
// the webhook's monitor or rule, was deleted.
const reasonDeleted = "endpoint deleted"

// deliveryRecord is an entry of the delivery log.
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
	Platform          string          `json:"platform,omitempty"`
	TweetPublishedAt  string          `json:"tweet_published_at"`
	DetectedAt        string          `json:"detected_at"`
	LatencyMS         int64           `json:"latency_ms"`
	LatencyBadge      string          `json:"latency_badge"`
	DeliveryStatus    string          `json:"delivery_status"`
	WebhookStatusCode *int            `json:"webhook_status_code"`
	WebhookAttempts   int             `json:"webhook_attempts"`
	Attempts          []attemptRecord `json:"attempts"`
	StatusReason      *string         `json:"delivery_status_reason"`
}

type attemptRecord struct {
	At              string  `json:"at"`
	StatusCode      *int    `json:"status_code"`
	DurationMS      int64   `json:"duration_ms"`
	Error           *string `json:"error"`
	ResponsePreview string  `json:"response_preview"`
}

func newAttemptRecord(a *deliver.Attempt) attemptRecord {
	r := attemptRecord{At: timeText(a.At), DurationMS: a.Duration.Milliseconds(), Error: nullable(a.Error), ResponsePreview: a.ResponsePreview}
	if a.StatusCode != 0 {
		r.StatusCode = &a.StatusCode
	}
	return r
}

func newDeliveryRecord(e *deliver.LogEntry) deliveryRecord {
	ev := e.Event
	r := deliveryRecord{
		ID: e.ID, EventID: ev.ID, TweetID: ev.TweetID, AuthorUsername: ev.AuthorUsername, TweetTextPreview: ev.TextPreview, TweetURL: ev.TweetURL, Platform: ev.Platform,
		TweetPublishedAt: timeText(ev.PublishedAt), DetectedAt: timeText(ev.DetectedAt), LatencyMS: ev.Latency.Milliseconds(),
		LatencyBadge: latencyBadge(ev.Latency), DeliveryStatus: deliveryStatus(&e.Delivery),
		WebhookAttempts: len(e.Log), Attempts: make([]attemptRecord, len(e.Log)),
	}
	if ev.Source.Kind == deliver.SourceRule {
		r.RuleID, r.RuleTag = &ev.Source.ID, &ev.Source.Name
	} else {
		r.MonitorID, r.MonitorName = &ev.Source.ID, &ev.Source.Name
	}
	if deliver.ViaOf(e.EndpointID) == deliver.ViaWebhook {
		r.WebhookID = &e.EndpointID
	}
	if e.EndpointDeleted {
		reason := reasonDeleted
		r.StatusReason = &reason
	}
	for i := range e.Log {
		r.Attempts[i] = newAttemptRecord(&e.Log[i])
		if code := r.Attempts[i].StatusCode; code != nil {
			r.WebhookStatusCode = code
		}
	}
	return r
}

// source returns the kind and id in the parameter monitor_id or rule_id, both "" if there is none.
func (p *params) source() (deliver.SourceKind, string) {
	if !p.values.Has("rule_id") {
		if !p.values.Has("monitor_id") {
			return "", ""
		}
		return deliver.SourceMonitor, p.id("monitor_id")
	}
	if p.values.Has("monitor_id") {
		p.refuse("rule_id", p.values.Get("rule_id"), "either rule_id or monitor_id, not both")
	}
	return deliver.SourceRule, p.id("rule_id")
}

// window returns the parameters since and until. A missing one is the zero time.
func (p *params) window() (since, until time.Time) {
	since, until = p.moment("since"), p.moment("until")
	if p.values.Has("until") && !until.After(since) {
		p.refuse("until", p.values.Get("until"), "a time after since")
	}
	return since, until
}

// deliveryLogs lists the deliveries of one monitor or rule, of one webhook, or of all of the owner's.
func (h webhookAPI) deliveryLogs(c *call) (reply, error) {
	p := c.params()
	kind, id := p.source()
	return h.logPage(c, p, deliver.LogQuery{SourceKind: kind, SourceID: id, EndpointID: p.id("webhook_id")})
}

func (h *Handler) logPage(c *call, p *params, q deliver.LogQuery) (reply, error) {
	q.Owner, q.AuthorUsername, q.Asc = c.who.Owner, p.account("author_username"), p.oneOf("sort", "desc", "asc") == "asc"
	filterByStatus(&q, p.oneOf("delivery_status", append([]string{""}, statuses...)...))
	q.Since, q.Until = p.window()
	cs := h.cursors(c, "delivery_logs", string(q.SourceKind), q.SourceID, q.EndpointID, strings.ToLower(q.AuthorUsername), string(q.State), string(q.Via),
		instant(q.Since), instant(q.Until), strconv.FormatBool(q.Asc))
	out, list, err := readLog[deliveryRecord](p, cs, func(page, size int, cursor string) ([]deliver.LogEntry, int, string, error) {
		q.Page, q.PageSize, q.Cursor = page, size, cursor
		got, err := h.engine.Log().Deliveries(c.Context(), q)
		return got.Entries, got.Total, got.Next, err
	})
	if err != nil {
		return reply{}, err
	}
	out.Logs = make([]deliveryRecord, len(list))
	for i := range list {
		out.Logs[i] = newDeliveryRecord(&list[i])
	}
	return reply{value: out}, nil
}

func (h webhookAPI) getDelivery(c *call) (reply, error) {
	e, err := h.engine.Log().Delivery(c.Context(), c.who.Owner, c.PathValue("delivery_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{value: newDeliveryRecord(&e)}, nil
}

func (h webhookAPI) redeliver(c *call) (reply, error) {
	e, err := h.engine.Endpoints().Redeliver(c.Context(), c.who.Owner, c.PathValue("delivery_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{value: newDeliveryRecord(&e)}, nil
}

type recoverRecord struct {
	WebhookID  string `json:"webhook_id"`
	Redelivers int    `json:"redelivers"` // number of deliveries that are sent again
}

func (h webhookAPI) recoverWebhook(c *call) (reply, error) {
	since := c.form.moment("since")
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
