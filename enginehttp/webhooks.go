package enginehttp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// webhookAPI serves webhooks, deliveries and replays.
type webhookAPI struct{ *Handler }

// madeWebhook is a webhook with its secret. It is the answer to a request that creates a webhook or
// rotates its secret.
type madeWebhook struct {
	ID        string  `json:"id"`
	MonitorID *string `json:"monitor_id"`
	RuleID    *string `json:"rule_id,omitempty"`
	URL       string  `json:"url"`
	Secret    string  `json:"secret"`
	CreatedAt string  `json:"created_at"`
	// OldSecretUntil is the time until which requests are also signed with the previous secret.
	OldSecretUntil *string `json:"old_secret_until,omitempty"`
}

func newMadeWebhook(e *deliver.Endpoint) madeWebhook {
	w := madeWebhook{ID: e.ID, URL: e.URL, Secret: string(e.Secret), CreatedAt: timeText(e.CreatedAt)}
	if e.Source.Kind == deliver.SourceRule {
		w.RuleID = &e.Source.ID
	} else {
		w.MonitorID = &e.Source.ID
	}
	return w
}

// webhookRecord is a webhook without its secret.
type webhookRecord struct {
	ID           string                 `json:"id"`
	MonitorID    *string                `json:"monitor_id"`
	MonitorName  *string                `json:"monitor_name"`
	RuleID       *string                `json:"rule_id,omitempty"`
	RuleTag      *string                `json:"rule_tag,omitempty"`
	URL          string                 `json:"url"`
	SecretSet    bool                   `json:"secret_set"`
	Status       deliver.EndpointStatus `json:"status"`
	StatusReason *string                `json:"status_reason"`
	Health       webhookHealth          `json:"health"`
	Deliveries   *webhookDeliveries     `json:"deliveries,omitempty"` // of one webhook that was asked for
	HeaderNames  []string               `json:"header_names"`
	CreatedAt    string                 `json:"created_at"`
}

// newWebhookRecord returns a webhook with the current name of its monitor or the tag of its
// rule. names has these by id; if one is missing, the record has the name stored with the
// webhook.
func newWebhookRecord(e *deliver.Endpoint, names map[string]string) webhookRecord {
	w := webhookRecord{ID: e.ID, URL: e.URL, SecretSet: true, Status: e.Status, StatusReason: nullable(e.StatusReason), CreatedAt: timeText(e.CreatedAt),
		Health: newWebhookHealth(e), HeaderNames: make([]string, len(e.Headers))}
	for i := range e.Headers {
		w.HeaderNames[i] = e.Headers[i].Name
	}
	if e.Status == deliver.EndpointActive && !e.PausedSince.IsZero() {
		w.Status, w.StatusReason = "paused", nullable("paused_by_user")
	}
	name, ok := names[e.Source.ID]
	if !ok {
		name = e.Source.Name
	}
	if e.Source.Kind == deliver.SourceRule {
		w.RuleID, w.RuleTag = &e.Source.ID, &name
	} else {
		w.MonitorID, w.MonitorName = &e.Source.ID, &name
	}
	return w
}

type webhookList struct {
	Webhooks []webhookRecord `json:"webhooks"`
	Total    int             `json:"total"`
	*paging                  // nil, and omitted, if the request asked for all
}

func (h webhookAPI) listWebhooks(c *call) (reply, error) {
	p := c.params()
	kind, id := p.source()
	pg := p.paging()
	if p.err != nil {
		return reply{}, p.err
	}
	list, err := h.engine.Endpoints().List(c.Context(), c.who.Owner, id)
	if err != nil {
		return reply{}, err
	}
	if id != "" { // a monitor and a rule may have the same id
		list = slices.DeleteFunc(list, func(e deliver.Endpoint) bool { return e.Source.Kind != kind })
	}
	out := webhookList{Total: len(list)}
	if slices.ContainsFunc(pageParams, p.values.Has) {
		list, out.paging = cutPage(list, pg), &pg
	}
	names, err := h.sourceNames(c.Context(), c.who.Owner, list)
	if err != nil {
		return reply{}, err
	}
	out.Webhooks = make([]webhookRecord, len(list))
	for i := range list {
		out.Webhooks[i] = newWebhookRecord(&list[i], names)
	}
	return reply{value: out}, nil
}

// sourceNames returns the current names of the webhooks' monitors, and the tags of their rules,
// by id.
func (h webhookAPI) sourceNames(ctx context.Context, owner string, list []deliver.Endpoint) (map[string]string, error) {
	names := map[string]string{}
	if len(list) == 0 {
		return names, nil
	}
	first := list[0].Source.ID
	for i := range list {
		if list[i].Source.ID != first { // for several sources, reading all takes fewer calls
			return names, h.allNames(ctx, owner, names)
		}
	}
	name, err := h.nameOf(ctx, list[0].Source)
	if err == nil {
		names[first] = name
	} else if !errors.Is(err, monitor.ErrNotFound) && !errors.Is(err, rule.ErrNotFound) {
		return nil, err
	}
	return names, nil
}

func (h webhookAPI) allNames(ctx context.Context, owner string, names map[string]string) error {
	for page := 1; ; page++ {
		got, err := h.engine.Monitors().Page(ctx, monitor.Query{Owner: owner, Page: page, PageSize: 100})
		if err != nil {
			return err
		}
		for _, m := range got.Monitors {
			names[m.ID] = m.Name
		}
		if len(got.Monitors) < 100 {
			break
		}
	}
	for page := 1; ; page++ {
		got, err := h.engine.Rules().Page(ctx, rule.Query{Owner: owner, Page: page, PageSize: 100})
		if err != nil {
			return err
		}
		for _, r := range got.Rules {
			names[r.ID] = r.Tag
		}
		if len(got.Rules) < 100 {
			return nil
		}
	}
}

// nameOf returns the current name of a monitor, or the tag of a rule.
func (h webhookAPI) nameOf(ctx context.Context, s deliver.Source) (string, error) {
	if s.Kind == deliver.SourceRule {
		r, err := h.engine.Rules().Get(ctx, s.Owner, s.ID)
		return r.Tag, err
	}
	m, err := h.engine.Monitors().Get(ctx, s.Owner, s.ID)
	return m.Name, err
}

func (h webhookAPI) createWebhook(c *call) (reply, error) {
	f := c.form
	monitorID, ruleID := f.optional("monitor_id"), f.optional("rule_id")
	url, key := f.need("url", "an https URL of up to 2,048 characters"), secret.Value(f.optional("secret"))
	from := f.optionalMoment("from")
	if f.err == nil && (monitorID == "") == (ruleID == "") {
		f.err = refused("monitor_id", monitorID, "the id of a monitor, or a rule_id in its place")
	}
	if f.err != nil {
		return reply{}, f.err
	}
	src := deliver.Source{Kind: deliver.SourceMonitor, ID: monitorID, Owner: c.who.Owner}
	if ruleID != "" {
		src.Kind, src.ID = deliver.SourceRule, ruleID
	}
	var err error
	if src.Name, err = h.nameOf(c.Context(), src); err != nil {
		return reply{}, err
	}
	e, err := h.engine.Endpoints().Create(c.Context(), endpoints.NewEndpoint{Source: src, URL: url, Secret: key, From: from})
	if err != nil {
		return reply{}, webhookError(err)
	}
	return reply{status: http.StatusCreated, version: e.Version, id: e.ID, value: newMadeWebhook(&e)}, nil
}

// webhookError replaces the field's name in an error with its name in the webhook endpoints.
func webhookError(err error) error {
	var f *deliver.FieldError
	if errors.As(err, &f) {
		renamed := *f
		switch f.Wire {
		case "webhook_url":
			renamed.Wire = "url"
		case "webhook_secret":
			renamed.Wire = "secret"
		}
		return &renamed
	}
	return err
}

func (h webhookAPI) deleteWebhook(c *call) (reply, error) {
	return reply{status: http.StatusNoContent}, h.engine.Endpoints().DeleteVersion(c.Context(), c.who.Owner, c.PathValue("webhook_id"), c.version)
}

// The limits of grace_seconds, equal to those of endpoints.Update.Overlap.
const (
	maxGrace     = 7 * 24 * 60 * 60
	graceAllowed = "a whole number of 0 to 604800"
)

func (h webhookAPI) rotateWebhook(c *call) (reply, error) {
	u := endpoints.Update{Secret: new(secret.Value)}
	if seconds := field[int64](c.form, "grace_seconds", graceAllowed); seconds != nil {
		if *seconds < 0 || *seconds > maxGrace {
			c.form.refuse("grace_seconds", graceAllowed)
		}
		grace := time.Duration(*seconds) * time.Second
		u.Overlap = &grace
	}
	if c.form.err != nil {
		return reply{}, c.form.err
	}
	e, err := h.engine.Endpoints().Update(c.Context(), c.who.Owner, c.PathValue("webhook_id"), u)
	if err != nil {
		return reply{}, webhookError(err)
	}
	made := newMadeWebhook(&e)
	if len(e.OldSecrets) > 0 {
		until := timeText(e.OldSecrets[0].Until)
		made.OldSecretUntil = &until
	}
	return reply{version: e.Version, value: made}, nil
}

func (h webhookAPI) enableWebhook(c *call) (reply, error) {
	e, err := h.engine.Endpoints().Enable(c.Context(), c.who.Owner, c.PathValue("webhook_id"))
	return h.record(c, e, err)
}

func (h webhookAPI) getWebhook(c *call) (reply, error) {
	e, err := h.engine.Endpoints().Get(c.Context(), c.who.Owner, c.PathValue("webhook_id"))
	r, err := h.record(c, e, err)
	if err != nil {
		return reply{}, err
	}
	health, err := h.engine.EndpointHealth(c.Context(), c.who.Owner, e.ID)
	if err != nil {
		return reply{}, err
	}
	w := r.value.(webhookRecord)
	w.Deliveries = newWebhookDeliveries(health[e.ID])
	r.value = w
	return r, nil
}

// record returns the answer with a webhook, or err if that is not nil.
func (h webhookAPI) record(c *call, e deliver.Endpoint, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	names, err := h.sourceNames(c.Context(), c.who.Owner, []deliver.Endpoint{e})
	if err != nil {
		return reply{}, err
	}
	return reply{version: e.Version, value: newWebhookRecord(&e, names)}, nil
}

// webhookTest is the result of a test call.
type webhookTest struct {
	Success        bool    `json:"success"`
	StatusCode     *int    `json:"status_code"`
	ResponseTimeMS int64   `json:"response_time_ms"`
	Error          *string `json:"error"`
	DeliveryID     string  `json:"delivery_id"`
}

// testWebhook sends a test call to the webhook of the monitor's webhook_url. If the monitor has no
// webhook_url, it uses the monitor's oldest webhook.
func (h webhookAPI) testWebhook(c *call) (reply, error) {
	id := c.form.need("monitor_id", "the id of a monitor")
	if c.form.err != nil {
		return reply{}, c.form.err
	}
	m, err := h.engine.Monitors().Get(c.Context(), c.who.Owner, id)
	if err != nil {
		return reply{}, err
	}
	list, err := h.engine.Endpoints().List(c.Context(), c.who.Owner, id)
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return reply{}, refused("monitor_id", id, "a monitor with a webhook")
	}
	e := &list[0]
	for i := range list {
		if list[i].ID == m.WebhookID {
			e = &list[i]
		}
	}
	r, err := h.engine.Endpoints().Test(c.Context(), c.who.Owner, e.ID)
	if err != nil {
		return reply{}, err
	}
	out := webhookTest{Success: r.OK, ResponseTimeMS: r.Duration.Milliseconds(), Error: nullable(r.Error), DeliveryID: r.DeliveryID}
	if r.StatusCode != 0 {
		out.StatusCode = &r.StatusCode
	}
	return reply{id: e.ID, value: out}, nil
}
