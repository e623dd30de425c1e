package enginehttp

import (
	"net/http"
	"strconv"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// monitorAPI serves monitors.
type monitorAPI struct{ *Handler }

var monitorFields = []string{"name", "usernames", "webhook_url", "webhook_secret", "filter_types", "poll_interval_seconds"}

// appendMonitor appends a monitor's record as JSON. It includes webhook_secret only if the request
// generated one. It takes a third of the time of encoding/json, since clients list monitors often.
func (h monitorAPI) appendMonitor(b []byte, m *monitor.Monitor, generated secret.Value) []byte {
	price := h.engine.Price(*m)
	b = fetcher.AppendString(append(b, `{"id":`...), m.ID)
	b = fetcher.AppendString(append(b, `,"name":`...), m.Name)
	b = append(b, `,"usernames":[`...)
	for i := range m.Accounts {
		b = fetcher.AppendString(comma(b, i), m.Accounts[i].Username)
	}
	b = appendTime(append(b, `],"created_at":`...), m.CreatedAt)
	b = appendTime(append(b, `,"updated_at":`...), m.UpdatedAt)
	b = fetcher.AppendString(append(b, `,"status":`...), string(m.Status))
	if b = append(b, `,"status_reason":`...); m.StatusReason == "" {
		b = append(b, "null"...)
	} else {
		b = fetcher.AppendString(b, m.StatusReason)
	}
	if b = append(b, `,"webhook_url":`...); m.WebhookURL == "" {
		b = append(b, "null"...)
	} else {
		b = fetcher.AppendString(b, m.WebhookURL)
	}
	b = strconv.AppendBool(append(b, `,"webhook_secret_set":`...), m.WebhookSecretSet)
	if generated != "" {
		b = fetcher.AppendString(append(b, `,"webhook_secret":`...), string(generated))
	}
	b = append(b, `,"filter_types":[`...)
	for i, ft := range m.FilterTypes {
		b = fetcher.AppendString(comma(b, i), string(ft))
	}
	b = strconv.AppendFloat(append(b, `],"poll_interval_seconds":`...), m.PollInterval.Seconds(), 'f', -1, 64)
	b = appendCredits(append(b, `,"credits_per_account_per_day":`...), roundUp(price.PerAccountPerDay))
	b = appendCredits(append(b, `,"estimated_credits_per_day":`...), roundUp(price.PerDay))
	b = appendCredits(append(b, `,"estimated_credits_per_hour":`...), (price.PerDay+23)/24)
	b = fetcher.AppendString(append(b, `,"pricing_tier":`...), price.Tier)
	return append(b, '}')
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
	b := append(make([]byte, 0, 128+512*len(list)), `{"monitors":[`...)
	for i := range list {
		b = h.appendMonitor(comma(b, i), &list[i], "")
	}
	b = strconv.AppendInt(append(b, `],"total":`...), int64(total), 10)
	b = strconv.AppendInt(append(b, `,"page":`...), int64(pg.Page), 10)
	b = strconv.AppendInt(append(b, `,"page_size":`...), int64(pg.PageSize), 10)
	b = strconv.AppendInt(append(b, `,"limit":`...), int64(pg.Limit), 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), pg.Offset, 10)
	return reply{text: append(b, "}\n"...)}, nil
}

func (h monitorAPI) getMonitor(c *call) (reply, error) {
	m, err := h.engine.Monitors().Get(c.Context(), c.who.Owner, c.PathValue("monitor_id"))
	if err != nil {
		return reply{}, err
	}
	return reply{version: m.Version, text: h.appendMonitor(nil, &m, "")}, nil
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
	return reply{status: http.StatusCreated, version: m.Version, text: h.appendMonitor(nil, &m.Monitor, m.WebhookSecret)}, nil
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
	return reply{version: m.Version, text: h.appendMonitor(nil, &m.Monitor, m.WebhookSecret)}, nil
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
