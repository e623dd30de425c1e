package engineui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// monitorRow is a monitor with its price.
type monitorRow struct {
	monitor.Monitor
	Price billing.Price
}

func (c *Console) monitorRow(v *view, owner, id string) (r monitorRow, err error) {
	r.Monitor, err = c.engine.Monitors().Get(v.Context(), owner, id)
	r.Price = c.engine.Price(r.Monitor)
	return r, err
}

// monitors loads the list of monitors.
func (c *Console) monitors(v *view) (any, error) {
	d, entries, err := c.list(v, record.Monitor, "active", "paused")
	if err != nil {
		return nil, err
	}
	d.Rows, err = rows(entries, func(e *entry) (monitorRow, error) { return c.monitorRow(v, e.owner, e.ID) })
	return d, err
}

// accountsShown is the maximum number of accounts on the page of a monitor.
const accountsShown = 200

// monitorData is the data of a monitor's page.
type monitorData struct {
	monitorRow
	Endpoints []endpointRow
}

// monitor loads the page of one monitor.
func (c *Console) monitor(v *view) (any, error) {
	var d monitorData
	var err error
	if d.monitorRow, err = c.monitorRow(v, v.Owner, v.query.Get("monitor")); err != nil {
		return nil, refused(err)
	}
	d.Endpoints, err = c.endpointsOf(v, d.ID)
	return d, err
}

var monitorActions = sourceActions("monitor", func(e *streamwatch.Engine) sources[monitor.Monitor] { return e.Monitors() }, func(m *monitor.Monitor) string { return m.Name })

// listActions are those of the list of monitors.
var monitorsActions = map[string]action{
	"make": func(c *Console, v *view) (done, error) {
		every, err := v.seconds("every")
		if err != nil {
			return done{}, err
		}
		m, err := c.engine.Monitors().Create(v.Context(), monitor.CreateRequest{Owner: v.newOwner(), Name: strings.TrimSpace(v.PostForm.Get("name")),
			Usernames: strings.Fields(v.PostForm.Get("accounts")), PollInterval: every, WebhookURL: strings.TrimSpace(v.PostForm.Get("url"))})
		return made(v, "monitor", m.ID, m.WebhookSecret, m.WebhookURL), refused(err)
	},
}

// made is what is done when a monitor or rule was made.
func made(v *view, kind, id string, generated secret.Value, url string) done {
	d := done{To: v.Link(kind, kind, id), ID: id, Said: "The " + kind + " is made: it finds what is published from now on.", Secret: generated}
	if url == "" {
		d.Secret = ""
	}
	return d
}

// newOwner returns the owner of what a form makes: an operator may name one.
func (v *view) newOwner() string {
	if v.Viewer.All && v.PostForm.Has("owner") {
		v.Owner = strings.TrimSpace(v.PostForm.Get("owner"))
	}
	return v.Owner
}

// seconds reads a field with a number of seconds, 0 if it is empty.
func (v *view) seconds(field string) (time.Duration, error) {
	text := strings.TrimSpace(v.PostForm.Get(field))
	if text == "" {
		return 0, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s > 0 && s <= 86400) {
		return 0, refused(&deliver.FieldError{Wire: field, Allowed: "seconds, 0.1 to 86,400"})
	}
	return time.Duration(math.Round(s * float64(time.Second))), nil
}
