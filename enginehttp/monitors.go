package enginehttp

import (
	"context"
	"strconv"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

var monitorFields = []string{"name", "usernames", "webhook_url", "webhook_secret", "filter_types", "poll_interval_seconds"}

// monitorAPI returns what serves monitors.
func (h *Handler) monitorAPI() sourceAPI[monitor.Monitor] {
	monitors := h.engine.Monitors()
	return sourceAPI[monitor.Monitor]{
		id: "monitor_id", list: "monitors", get: monitors.Get, remove: monitors.DeleteVersion, create: h.createMonitor, update: h.updateMonitor,
		page: func(ctx context.Context, owner, status string, page, size int) ([]monitor.Monitor, int, error) {
			got, err := monitors.Page(ctx, monitor.Query{Owner: owner, Status: monitor.Status(status), Page: page, PageSize: size})
			return got.Monitors, got.Total, err
		},
		ref:    func(m *monitor.Monitor) (string, int64) { return m.ID, m.Version },
		append: h.appendMonitor,
	}
}

func (h *Handler) appendMonitor(b []byte, m *monitor.Monitor, generated secret.Value, _ credits) []byte {
	b = fetcher.AppendString(append(b, `{"id":`...), m.ID)
	b = fetcher.AppendString(append(b, `,"name":`...), m.Name)
	b = append(b, `,"usernames":[`...)
	for i := range m.Accounts {
		b = fetcher.AppendString(comma(b, i), m.Accounts[i].Username)
	}
	b = appendTime(append(b, `],"created_at":`...), m.CreatedAt)
	b = appendTime(append(b, `,"updated_at":`...), m.UpdatedAt)
	b = fetcher.AppendString(append(b, `,"status":`...), string(m.Status))
	b = appendNullable(append(b, `,"status_reason":`...), m.StatusReason)
	b = appendWebhook(b, m.WebhookURL, m.WebhookSecretSet, generated)
	b = append(b, `,"filter_types":[`...)
	for i, ft := range m.FilterTypes {
		b = fetcher.AppendString(comma(b, i), string(ft))
	}
	b = strconv.AppendFloat(append(b, `],"poll_interval_seconds":`...), m.PollInterval.Seconds(), 'f', -1, 64)
	if h.opts.Ledger != nil {
		price := h.engine.Price(*m)
		b = appendCredits(append(b, `,"credits_per_account_per_day":`...), roundUp(price.PerAccountPerDay))
		b = appendCredits(append(b, `,"estimated_credits_per_day":`...), roundUp(price.PerDay))
		b = appendCredits(append(b, `,"estimated_credits_per_hour":`...), (price.PerDay+23)/24)
		b = fetcher.AppendString(append(b, `,"pricing_tier":`...), price.Tier)
	}
	return append(b, '}')
}

func (h *Handler) createMonitor(c *call) (monitor.Monitor, secret.Value, error) {
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
	if iv := f.seconds("poll_interval_seconds"); iv != nil {
		q.PollInterval = *iv
	}
	q.WebhookURL = f.optional("webhook_url")
	q.WebhookSecret = secret.Value(f.optional("webhook_secret"))
	if f.err != nil {
		return monitor.Monitor{}, "", f.err
	}
	m, err := h.engine.Monitors().Create(c.Context(), q)
	return m.Monitor, m.WebhookSecret, err
}

// updateMonitor changes a monitor. null resets an optional field to its default for a new monitor.
func (h *Handler) updateMonitor(c *call, id string, common control.Request) (monitor.Monitor, secret.Value, error) {
	f := c.form
	q := monitor.UpdateRequest{
		Name: f.text("name"), Usernames: f.texts("usernames"), FilterTypes: filterTypes(f), PollInterval: f.seconds("poll_interval_seconds"),
		WebhookURL: common.WebhookURL, WebhookSecret: common.WebhookSecret, Status: (*monitor.Status)(common.Status), Version: common.Version,
	}
	if f.err != nil {
		return monitor.Monitor{}, "", f.err
	}
	m, err := h.engine.Monitors().Update(c.Context(), c.who.Owner, id, q)
	return m.Monitor, m.WebhookSecret, err
}

// filterTypes returns filter_types, or nil if it is missing. null becomes the empty list, which
// means all types.
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
