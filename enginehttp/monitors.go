package enginehttp

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// wireTime is ISO 8601 in UTC with exactly milliseconds.
const wireTime = "2006-01-02T15:04:05.000Z"

func timeText(t time.Time) string { return t.UTC().Format(wireTime) }

// nullable is a text that is null when there is nothing to say.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

var monitorFields = []string{"name", "usernames", "webhook_url", "webhook_secret", "filter_types", "poll_interval_seconds"}

// monitorRecord is a monitor as it is listed; WebhookSecret is set when one was
// generated just now.
type monitorRecord struct {
	ID                      string               `json:"id"`
	Name                    string               `json:"name"`
	Usernames               []string             `json:"usernames"`
	CreatedAt               string               `json:"created_at"`
	UpdatedAt               string               `json:"updated_at"`
	Status                  monitor.Status       `json:"status"`
	StatusReason            *string              `json:"status_reason"`
	WebhookURL              string               `json:"webhook_url"`
	WebhookSecretSet        bool                 `json:"webhook_secret_set"`
	WebhookSecret           string               `json:"webhook_secret,omitempty"`
	FilterTypes             []monitor.FilterType `json:"filter_types"`
	PollIntervalSeconds     float64              `json:"poll_interval_seconds"`
	CreditsPerAccountPerDay credits              `json:"credits_per_account_per_day"`
	EstimatedCreditsPerDay  credits              `json:"estimated_credits_per_day"`
	PricingTier             string               `json:"pricing_tier"`
}

func (h *Handler) monitorRecord(m *monitor.Monitor, generated secret.Value) monitorRecord {
	price := h.opts.Pricing.Monitor(len(m.Accounts))
	return monitorRecord{
		ID: m.ID, Name: m.Name, Usernames: m.Usernames(), CreatedAt: timeText(m.CreatedAt), UpdatedAt: timeText(m.UpdatedAt),
		Status: m.Status, StatusReason: nullable(m.StatusReason),
		WebhookURL: m.WebhookURL, WebhookSecretSet: m.WebhookSecretSet, WebhookSecret: string(generated),
		FilterTypes: filled(m.FilterTypes), PollIntervalSeconds: m.PollInterval.Seconds(),
		CreditsPerAccountPerDay: roundUp(price.PerAccountPerDay), EstimatedCreditsPerDay: roundUp(price.PerDay), PricingTier: price.Tier,
	}
}

// roundUp gives a price in whole credits.
func roundUp(c billing.Credits) credits {
	return credits((c + billing.Credit - 1) / billing.Credit * billing.Credit)
}

// filled makes an empty list of none, which encodes as [].
func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

type monitorPage struct {
	Monitors []monitorRecord `json:"monitors"`
	Total    int             `json:"total"`
	Page     int             `json:"page"`
	PageSize int             `json:"page_size"`
}

func (h *Handler) listMonitors(c *call) (reply, error) {
	p := c.params()
	page, size := p.page()
	status := p.oneOf("status", "", "active", "paused")
	if p.err != nil {
		return reply{}, p.err
	}
	got, err := h.engine.Monitors().List(c.Context(), monitor.Query{Owner: c.who.Owner, Status: monitor.Status(status), Page: page, PageSize: size})
	if err != nil {
		return reply{}, err
	}
	out := monitorPage{Monitors: make([]monitorRecord, len(got.Monitors)), Total: got.Total, Page: page, PageSize: size}
	for i := range got.Monitors {
		out.Monitors[i] = h.monitorRecord(&got.Monitors[i], "")
	}
	return reply{value: out}, nil
}

func (h *Handler) getMonitor(c *call) (reply, error) {
	m, err := h.engine.Monitors().Get(c.Context(), c.who.Owner, c.PathValue("monitor_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{value: h.monitorRecord(&m, "")}, nil
}

func (h *Handler) createMonitor(c *call) (reply, error) {
	f := c.form
	q := monitor.CreateRequest{Owner: c.who.Owner, Name: f.need("name", "1 to 100 characters")}
	if names := f.texts("usernames"); names != nil {
		q.Usernames = *names
	} else {
		f.refuse("usernames", "a list of strings")
	}
	if types := filterTypes(f); types != nil {
		q.FilterTypes = *types
	}
	if iv := interval(f, "poll_interval_seconds"); iv != nil {
		q.PollInterval = *iv
	}
	q.WebhookURL = f.optional("webhook_url")
	q.WebhookSecret = secret.Value(f.optional("webhook_secret"))
	if f.err != nil {
		return reply{}, f.err
	}
	m, err := h.engine.Monitors().Create(c.Context(), q)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusCreated, value: h.monitorRecord(&m.Monitor, m.WebhookSecret)}, nil
}

// patchMonitor changes the fields that are there. Null stands for what a
// monitor has without the field, where it can be without.
func (h *Handler) patchMonitor(c *call) (reply, error) {
	f := c.form
	q := monitor.UpdateRequest{
		Name: f.text("name"), Usernames: f.texts("usernames"),
		FilterTypes: filterTypes(f), PollInterval: interval(f, "poll_interval_seconds"),
	}
	if f.has("webhook_url") {
		url := f.optional("webhook_url")
		q.WebhookURL = &url
	}
	if v := f.text("webhook_secret"); v != nil {
		q.WebhookSecret = (*secret.Value)(v)
	}
	if v := f.text("status"); v != nil {
		q.Status = (*monitor.Status)(v)
	}
	if f.err != nil {
		return reply{}, f.err
	}
	m, err := h.engine.Monitors().Update(c.Context(), c.who.Owner, c.PathValue("monitor_id"), q)
	if err != nil {
		return reply{}, err
	}
	return reply{value: h.monitorRecord(&m.Monitor, m.WebhookSecret)}, nil
}

func (h *Handler) deleteMonitor(c *call) (reply, error) {
	return reply{status: http.StatusNoContent}, h.engine.Monitors().Delete(c.Context(), c.who.Owner, c.PathValue("monitor_id"))
}

// filterTypes is nil when they are not there; null means all, as none does.
func filterTypes(f *form) *[]monitor.FilterType {
	if f.isNull("filter_types") {
		return &[]monitor.FilterType{}
	}
	names := f.texts("filter_types")
	if names == nil {
		return nil
	}
	types := make([]monitor.FilterType, len(*names))
	for i, n := range *names {
		types[i] = monitor.FilterType(n)
	}
	return &types
}

// interval is a field in seconds, nil when it is not there; null means 0, the
// default. What a time.Duration can not hold is refused by its owner as well as
// anything else that is too long.
func interval(f *form, name string) *time.Duration {
	if f.isNull(name) {
		return new(time.Duration)
	}
	v := f.number(name)
	if v == nil {
		return nil
	}
	const most = float64(math.MaxInt64/int64(time.Second)) / 2
	d := time.Duration(math.Round(max(-most, min(*v, most)) * float64(time.Second)))
	if d == 0 && *v != 0 {
		f.refuse(name, "0, or enough to count")
	}
	return &d
}

// isMissing reports that a record is unknown or another's.
func isMissing(err error) bool { return errors.Is(err, monitor.ErrNotFound) }
