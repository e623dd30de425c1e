package engineui

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// monitorData is the data of a monitor's page.
type monitorData struct {
	monitor.Monitor
	Endpoints []any
}

// monitor loads the page of one monitor.
func (c *Console) monitor(v *view) (any, error) {
	m, err := c.engine.Monitors().Get(v.Context(), v.Owner, v.query.Get("monitor"))
	if err != nil {
		return nil, refused(err)
	}
	list, err := c.endpointsOf(v, m.ID)
	return &monitorData{m, list}, err
}

// ruleData is the data of a rule's page.
type ruleData struct {
	rule.Rule
	Endpoints []any
	Try       *tried
}

// rule loads the page of one rule.
func (c *Console) rule(v *view) (any, error) {
	r, err := c.engine.Rules().Get(v.Context(), v.Owner, v.query.Get("rule"))
	if err != nil {
		return nil, refused(err)
	}
	d := &ruleData{Rule: r}
	if d.Endpoints, err = c.endpointsOf(v, r.ID); err != nil {
		return nil, err
	}
	d.Try, err = c.try(v, r.Query)
	return d, err
}

// Price returns what a monitor or rule costs a day.
func (v *view) Price(of any) billing.Credits {
	switch of := of.(type) {
	case monitor.Monitor:
		return v.c.engine.Price(of).PerDay
	case rule.Rule:
		return v.c.engine.PriceRule(of).PerDay
	}
	return 0
}

// monitorsActions are those of the list of monitors.
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

// rulesActions are those of the list of rules.
var rulesActions = map[string]action{
	"make": func(c *Console, v *view) (done, error) {
		every, err := v.seconds("every")
		if err != nil {
			return done{}, err
		}
		r, err := c.engine.Rules().Create(v.Context(), rule.CreateRequest{Owner: v.newOwner(), Tag: strings.TrimSpace(v.PostForm.Get("name")), Query: strings.TrimSpace(v.PostForm.Get("query")),
			Platform: strings.TrimSpace(v.PostForm.Get("platform")), Interval: every, Schedule: strings.TrimSpace(v.PostForm.Get("schedule")), WebhookURL: strings.TrimSpace(v.PostForm.Get("url"))})
		return made(v, "rule", r.ID, r.WebhookSecret, r.WebhookURL), refused(err)
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

var (
	monitorActions = sourceActions("monitor", func(e *streamwatch.Engine) sources[monitor.Monitor] { return e.Monitors() }, func(m *monitor.Monitor) string { return m.Name })
	ruleActions    = sourceActions("rule", func(e *streamwatch.Engine) sources[rule.Rule] { return e.Rules() }, func(r *rule.Rule) string { return r.Tag })
)

// sources are the methods of a manager of monitors or rules.
type sources[T any] interface {
	Get(ctx context.Context, owner, id string) (T, error)
	Pause(ctx context.Context, owner, id string) (T, error)
	Resume(ctx context.Context, owner, id string) (T, error)
	Delete(ctx context.Context, owner, id string) error
}

// sourceActions are those of the page of a monitor or a rule.
func sourceActions[T any](kind string, manager func(*streamwatch.Engine) sources[T], name func(*T) string) map[string]action {
	on := func(do func(m sources[T], v *view, id string) (done, error)) action {
		return func(c *Console, v *view) (done, error) {
			d, err := do(manager(c.engine), v, v.query.Get(kind))
			return d, refused(err)
		}
	}
	return map[string]action{
		"pause": on(func(m sources[T], v *view, id string) (done, error) {
			_, err := m.Pause(v.Context(), v.Owner, id)
			return done{Said: "The " + kind + " is paused: nothing is found for it until it is resumed."}, err
		}),
		"resume": on(func(m sources[T], v *view, id string) (done, error) {
			_, err := m.Resume(v.Context(), v.Owner, id)
			return done{Said: "The " + kind + " is active: it finds what is published from now on."}, err
		}),
		"delete": on(func(m sources[T], v *view, id string) (done, error) {
			return done{To: v.Link(kind + "s"), Said: "The " + kind + " is deleted, with its endpoints."}, m.Delete(v.Context(), v.Owner, id)
		}),
		"endpoint": on(func(m sources[T], v *view, id string) (done, error) {
			source, err := m.Get(v.Context(), v.Owner, id)
			if err != nil {
				return done{}, err
			}
			e, err := v.c.engine.Endpoints().Create(v.Context(), endpoints.NewEndpoint{
				Source: deliver.Source{Kind: deliver.SourceKind(kind), ID: id, Owner: v.Owner, Name: name(&source)}, URL: strings.TrimSpace(v.PostForm.Get("url"))})
			return done{To: v.Link("endpoint", "endpoint", e.ID), ID: e.ID, Said: "The endpoint is made.", Secret: e.Secret}, err
		}),
	}
}
