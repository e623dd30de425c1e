package engineui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
)

// endpointRow is an endpoint with its lane and its figures.
type endpointRow struct {
	deliver.Endpoint
	Lane    dispatch.LaneStatus // of this node
	HasLane bool
	Figures streamwatch.EndpointHealth
}

func (c *Console) endpointRow(e *deliver.Endpoint) *endpointRow {
	r := &endpointRow{Endpoint: *e}
	r.Lane, r.HasLane = c.engine.Lane(e.ID)
	return r
}

// addHealth reads the figures of endpoints.
func (c *Console) addHealth(v *view, list []*endpointRow) error {
	ids := map[string][]string{} // by owner
	for _, r := range list {
		ids[r.Source.Owner] = append(ids[r.Source.Owner], r.ID)
	}
	for owner, of := range ids {
		figures, err := c.engine.EndpointHealth(v.Context(), owner, of...)
		if err != nil {
			return err
		}
		for _, r := range list {
			if f, ok := figures[r.ID]; ok {
				r.Figures = f
			}
		}
	}
	return nil
}

// endpointsOf returns the endpoints of a monitor or rule.
func (c *Console) endpointsOf(v *view, source string) (list []any, err error) {
	all, err := c.engine.Endpoints().List(v.Context(), v.Owner, source)
	var ends []*endpointRow
	for i := range all {
		r := c.endpointRow(&all[i])
		list, ends = append(list, r), append(ends, r)
	}
	if err == nil {
		err = c.addHealth(v, ends)
	}
	return list, err
}

// Handlers are the lanes of the program's own handlers, for operators.
func (v *view) Handlers() (list []dispatch.LaneStatus) {
	if v.scope().all {
		for _, lane := range v.c.engine.Lanes(rowsShown) {
			if _, ok := deliver.HandlerName(lane.EndpointID); ok {
				list = append(list, lane)
			}
		}
	}
	return list
}

// Made is the number of deliveries that were made since Figures.Since, or wait.
func (r *endpointRow) Made() int64 { return r.Figures.Delivered + r.Figures.Failed + r.Figures.Waiting }

// Success is the share of Made that was acknowledged.
func (r *endpointRow) Success() string {
	if r.Made() == 0 {
		return "–"
	}
	return figure.Share(float64(r.Figures.Delivered) / float64(r.Made()))
}

// LastError is the last failed attempt of a day, or nil.
func (r *endpointRow) LastError() *deliver.Attempt {
	if r.Figures.LastError.At.IsZero() {
		return nil
	}
	return &r.Figures.LastError
}

// Health returns disabled, paused, failing or active.
func (r *endpointRow) Health() string {
	switch {
	case r.Status == deliver.EndpointDisabled:
		return "disabled"
	case !r.PausedSince.IsZero():
		return "paused"
	case !r.Failing().IsZero():
		return "failing"
	}
	return "active"
}

// Class returns the class of the chip of Health.
func (r *endpointRow) Class() string {
	return map[string]string{"disabled": "bad", "failing": "bad", "paused": "hold", "active": "good"}[r.Health()]
}

// Failing returns when the endpoint began to fail, or the zero time if it does not fail.
func (r *endpointRow) Failing() time.Time {
	if r.FailingSince.IsZero() {
		return r.Lane.FailingSince
	}
	return r.FailingSince
}

// Shown returns the URL without parts that may be credentials.
func (r *endpointRow) Shown() string { return search.URL(r.URL) }

// Host and Path are the parts of Shown.
func (r *endpointRow) Host() string { host, _ := place(r.Shown()); return host }
func (r *endpointRow) Path() string { _, path := place(r.Shown()); return path }

// place divides a shown URL into its host, with a scheme that is not of the web, and the rest.
func place(shown string) (host, path string) {
	rest := strings.TrimPrefix(strings.TrimPrefix(shown, "https://"), "http://")
	from := 0
	if i := strings.Index(rest, "://"); i >= 0 {
		from = i + len("://")
	}
	if i := strings.IndexByte(rest[from:], '/'); i >= 0 {
		return rest[:from+i], rest[from+i:]
	}
	return rest, ""
}

// endpointData is the data of one endpoint's page.
type endpointData struct {
	*endpointRow
	Replay deliver.Replay
	*deliveriesData
	now time.Time
}

// endpoint loads the page of one endpoint.
func (c *Console) endpoint(v *view) (any, error) {
	id := v.query.Get("endpoint")
	e, err := c.engine.Endpoints().Get(v.Context(), v.Owner, id)
	if err != nil {
		return nil, refused(err)
	}
	d := &endpointData{endpointRow: c.endpointRow(&e), now: c.cfg.Now()}
	if d.Replay, err = c.engine.Endpoints().Replaying(v.Context(), v.Owner, id); err != nil && !errors.Is(err, deliver.ErrReplayNotFound) {
		return nil, err
	}
	if err = c.addHealth(v, []*endpointRow{d.endpointRow}); err != nil {
		return nil, err
	}
	d.deliveriesData, err = c.deliveriesOf(v, id)
	return d, err
}

// outlook is what the engine does next, and when or on which condition.
type outlook struct{ When, What string }

// Outlook returns what the engine does next.
func (d *endpointData) Outlook() (list []outlook) {
	say := func(when, what string) { list = append(list, outlook{when, what}) }
	at := func(t time.Time) string { return t.UTC().Format("15:04:05") + ", in " + figure.About(t.Sub(d.now)) }
	lane := &d.Lane
	switch {
	case d.Health() == "disabled":
		say("now", "Nothing is sent. What waited when it was disabled has failed.")
		say("when enabled", "It gets what is found from then on; resend or replay sends the rest.")
		return list
	case d.Health() == "paused":
		say("now", "Nothing is sent; deliveries wait.")
		say(d.PausedSince.Add(deliver.MaxPause).UTC().Format("2 Jan 15:04"), "Disabled, if the pause lasts so long.")
		return list
	case !d.HasLane:
		say("next event", "Sent at once. This node has sent nothing lately.")
	case !lane.OpenUntil.IsZero() && lane.OpenUntil.After(d.now):
		say(at(lane.OpenUntil), "One attempt alone: too many failed, so all others wait.")
		say("if it is 2xx", "The "+figure.Count(d.Figures.Waiting)+" that wait go out.")
		say("if not", "The wait doubles, up to 10 min.")
	case !lane.OpenUntil.IsZero():
		say("now", "One attempt alone is due: it decides whether the others go out.")
	case lane.NextTry.After(d.now):
		say(at(lane.NextTry), "The next attempt.")
	default:
		say("next event", "Sent at once.")
	}
	if since := d.Failing(); !since.IsZero() {
		say(since.Add(24*time.Hour).UTC().Format("2 Jan 15:04"), "Disabled, if nothing succeeds until then in 20 attempts.")
	}
	return list
}

var endpointActions = map[string]action{
	"test": onEndpoint(func(v *view, id string) (done, error) {
		r, err := v.c.engine.Endpoints().Test(v.Context(), v.Owner, id)
		said := figure.Answer(&deliver.Attempt{StatusCode: r.StatusCode, Error: r.Error})
		if !r.OK {
			return done{Said: "The test call was not accepted: " + said + ".", Bad: true}, err
		}
		return done{Said: "The test call was accepted: " + said + "."}, err
	}),
	"recover": onEndpoint(func(v *view, id string) (done, error) {
		n, err := v.c.engine.Endpoints().Recover(v.Context(), v.Owner, id, v.c.cfg.Now().Add(-since(v)))
		return done{Said: figure.Count(n) + " failed deliveries are sent again."}, err
	}),
	"replay": onEndpoint(func(v *view, id string) (done, error) {
		_, err := v.c.engine.Endpoints().Replay(v.Context(), v.Owner, id, v.c.cfg.Now().Add(-since(v)), time.Time{})
		return done{Said: "A replay has begun."}, err
	}),
	"enable": onEndpoint(func(v *view, id string) (done, error) {
		_, err := v.c.engine.Endpoints().Enable(v.Context(), v.Owner, id)
		return done{Said: "The endpoint is enabled."}, err
	}),
	"disable": onEndpoint(func(v *view, id string) (done, error) {
		_, err := v.c.engine.Endpoints().Disable(v.Context(), v.Owner, id, "disabled in the console")
		return done{Said: "The endpoint is disabled."}, err
	}),
	"rotate": onEndpoint(func(v *view, id string) (done, error) {
		e, err := v.c.engine.Endpoints().RotateSecret(v.Context(), v.Owner, id)
		return done{Said: "The secret is changed; the old one is valid for another day.", Secret: e.Secret}, err
	}),
	"delete": onEndpoint(func(v *view, id string) (done, error) {
		return done{To: v.Link("endpoints"), Said: "The endpoint is deleted."}, v.c.engine.Endpoints().Delete(v.Context(), v.Owner, id)
	}),
	"resend": onEndpoint(func(v *view, id string) (done, error) {
		chosen := v.PostForm["delivery"]
		if len(chosen) == 0 || len(chosen) > rowsShown {
			return done{}, &failure{http.StatusConflict, "Choose 1 to 50 deliveries."}
		}
		for n, d := range chosen {
			if _, err := v.c.engine.Endpoints().Redeliver(v.Context(), v.Owner, d); err != nil {
				return done{ID: d, Said: figure.Count(n) + " deliveries are sent again."}, err
			}
		}
		return done{Said: figure.Count(len(chosen)) + " deliveries are sent again."}, nil
	}),
	"pause":  onEndpoint(paused(true, "The endpoint is paused: deliveries wait.")),
	"resume": onEndpoint(paused(false, "The pause has ended.")),
}

// onEndpoint is an action on the endpoint that the address names.
func onEndpoint(do func(v *view, id string) (done, error)) action {
	return func(_ *Console, v *view) (done, error) {
		d, err := do(v, v.query.Get("endpoint"))
		return d, refused(err)
	}
}

func paused(on bool, text string) func(v *view, id string) (done, error) {
	return func(v *view, id string) (done, error) {
		_, err := v.c.engine.Endpoints().Update(v.Context(), v.Owner, id, endpoints.Update{Paused: &on})
		return done{Said: text}, err
	}
}

// since returns the period that a form asks for: an hour to a week, by default a day.
func since(v *view) time.Duration {
	hours, err := strconv.Atoi(v.PostForm.Get("hours"))
	if err != nil {
		hours = 24
	}
	return time.Duration(min(max(hours, 1), 7*24)) * time.Hour
}
