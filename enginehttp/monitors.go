package enginehttp

import (
	"net/http"

	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// monitorAPI serves monitors.
type monitorAPI struct{ *Handler }

var monitorFields = []string{"name", "usernames", "webhook_url", "webhook_secret", "filter_types", "poll_interval_seconds"}

// monitorRecord is a monitor. WebhookSecret is set only if the request generated one.
type monitorRecord struct {
	ID                string               `json:"id"`
	Name              string               `json:"name"`
	Usernames         []string             `json:"usernames"`
	CreatedAt         string               `json:"created_at"`
	UpdatedAt         string               `json:"updated_at"`
	Status            monitor.Status       `json:"status"`
	StatusReason      *string              `json:"status_reason"`
	WebhookURL        *string              `json:"webhook_url"`
	WebhookSecretSet  bool                 `json:"webhook_secret_set"`
	WebhookSecret     string               `json:"webhook_secret,omitempty"`
	FilterTypes       []monitor.FilterType `json:"filter_types"`
	PollInterval      float64              `json:"poll_interval_seconds"`
	CreditsPerAccount credits              `json:"credits_per_account_per_day"`
	EstimatedPerDay   credits              `json:"estimated_credits_per_day"`
	EstimatedPerHour  credits              `json:"estimated_credits_per_hour"`
	PricingTier       string               `json:"pricing_tier"`
}

func (h monitorAPI) monitorRecord(m *monitor.Monitor, generated secret.Value) monitorRecord {
	price := h.engine.Price(*m)
	out := monitorRecord{
		ID: m.ID, Name: m.Name, Usernames: make([]string, len(m.Accounts)), CreatedAt: timeText(m.CreatedAt), UpdatedAt: timeText(m.UpdatedAt),
		Status: m.Status, StatusReason: nullable(m.StatusReason), WebhookURL: nullable(m.WebhookURL),
		WebhookSecretSet: m.WebhookSecretSet, WebhookSecret: string(generated), FilterTypes: orEmpty(m.FilterTypes), PollInterval: m.PollInterval.Seconds(),
		CreditsPerAccount: credits(roundUp(price.PerAccountPerDay)), EstimatedPerDay: credits(roundUp(price.PerDay)),
		EstimatedPerHour: credits((price.PerDay + 23) / 24), PricingTier: price.Tier,
	}
	for i := range m.Accounts {
		out.Usernames[i] = m.Accounts[i].Username
	}
	return out
}

type monitorPage struct {
	Monitors []monitorRecord `json:"monitors"`
	Total    int             `json:"total"`
	paging
}

func (h monitorAPI) listMonitors(c *call) (reply, error) {
	p := c.params()
	pg := p.paging()
	status := p.oneOf("status", "", "active", "paused")
	if p.err != nil {
		return reply{}, p.err
	}
	list, total, err := readList(pg, func(page, size int) ([]monitor.Monitor, int, error) {
		got, err := h.engine.Monitors().List(c.Context(), monitor.Query{Owner: c.who.Owner, Status: monitor.Status(status), Page: page, PageSize: size})
		return got.Monitors, got.Total, err
	})
	if err != nil {
		return reply{}, err
	}
	out := monitorPage{Monitors: make([]monitorRecord, len(list)), Total: total, paging: pg}
	for i := range list {
		out.Monitors[i] = h.monitorRecord(&list[i], "")
	}
	return reply{value: out}, nil
}

func (h monitorAPI) getMonitor(c *call) (reply, error) {
	m, err := h.engine.Monitors().Get(c.Context(), c.who.Owner, c.PathValue("monitor_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{version: m.Version, value: h.monitorRecord(&m, "")}, nil
}

func (h monitorAPI) createMonitor(c *call) (reply, error) {
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
		return reply{}, f.err
	}
	m, err := h.engine.Monitors().Create(c.Context(), q)
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusCreated, version: m.Version, value: h.monitorRecord(&m.Monitor, m.WebhookSecret)}, nil
}

// patchMonitor changes the fields that are present. null resets an optional field to its default
// for a new monitor.
func (h monitorAPI) patchMonitor(c *call) (reply, error) {
	f := c.form
	q := monitor.UpdateRequest{
		Name: f.text("name"), Usernames: f.texts("usernames"),
		FilterTypes: filterTypes(f), PollInterval: f.seconds("poll_interval_seconds"),
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
	q.Version = c.version
	if f.err != nil {
		return reply{}, f.err
	}
	m, err := h.engine.Monitors().Update(c.Context(), c.who.Owner, c.PathValue("monitor_id"), q)
	if err != nil {
		return reply{}, err
	}
	return reply{version: m.Version, value: h.monitorRecord(&m.Monitor, m.WebhookSecret)}, nil
}

func (h monitorAPI) deleteMonitor(c *call) (reply, error) {
	return reply{status: http.StatusNoContent}, h.engine.Monitors().DeleteVersion(c.Context(), c.who.Owner, c.PathValue("monitor_id"), c.version)
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
