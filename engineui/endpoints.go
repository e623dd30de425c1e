package engineui

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// endpointsShown is the number of endpoints on a page.
const endpointsShown = 50

// endpointRow is an endpoint with its lane.
type endpointRow struct {
	deliver.Endpoint
	Lane    dispatch.LaneStatus
	HasLane bool
	Handler string // the handler's name, if the lane belongs to a handler
}

// endpointsData is a page of endpoints. For one owner the oldest come first. For all owners it
// has only the endpoints with a lane on this node, those in trouble first.
type endpointsData struct {
	All    bool
	Rows   []endpointRow
	Cursor string
	Next   string
}

// endpoints loads the page of an owner's endpoints. For an operator who has chosen no owner, it
// loads the lanes of all owners that this process remembers.
func (c *Console) endpoints(v *view) (any, error) {
	of := v.scope()
	if of.all {
		return c.lanes(v)
	}
	d := endpointsData{Cursor: v.query.Get("cursor")}
	from := 0
	if d.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(d.Cursor); err != nil || from < 0 {
			return nil, &failure{http.StatusBadRequest, "The cursor is not allowed: want that of a link."}
		}
	}
	list, err := c.engine.Endpoints().List(v.Context(), of.owner, "")
	if err != nil {
		return nil, err
	}
	from = min(from, len(list))
	to := min(from+endpointsShown, len(list))
	for _, e := range list[from:to] {
		d.Rows = append(d.Rows, c.endpointRow(e))
	}
	if to < len(list) {
		d.Next = strconv.Itoa(to)
	}
	return d, nil
}

func (c *Console) endpointRow(e deliver.Endpoint) endpointRow {
	r := endpointRow{Endpoint: e}
	r.Lane, r.HasLane = c.engine.Lane(e.ID)
	return r
}

// lanes returns the lanes of this process, those in trouble first.
func (c *Console) lanes(v *view) (any, error) {
	d := endpointsData{All: true}
	for _, lane := range c.engine.Lanes(endpointsShown) {
		r := endpointRow{Lane: lane, HasLane: true}
		if name, ok := deliver.HandlerName(lane.EndpointID); ok {
			r.Handler = name
		} else {
			e, err := c.engine.Endpoints().Get(v.Context(), lane.Owner, lane.EndpointID)
			if errors.Is(err, deliver.ErrEndpointNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			r.Endpoint = e
		}
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}

// State returns disabled, paused, failing, idle (without a lane here) or active.
func (r *endpointRow) State() string {
	switch {
	case r.Handler != "":
	case r.Status == deliver.EndpointDisabled:
		return "disabled"
	case !r.PausedSince.IsZero():
		return "paused"
	case !r.Failing().IsZero():
		return "failing"
	}
	if !r.HasLane {
		return "idle"
	}
	return "active"
}

// Failing returns when the endpoint began to fail, or the zero time if it does not fail.
func (r *endpointRow) Failing() time.Time {
	if r.FailingSince.IsZero() {
		return r.Lane.FailingSince
	}
	return r.FailingSince
}

// Breaker describes the state of the endpoint's circuit breaker.
func (r *endpointRow) Breaker() string {
	switch {
	case r.Lane.OpenUntil.IsZero():
		return "closed"
	case r.Lane.NextTry.IsZero():
		return "open: the next attempt decides"
	}
	return "open until " + clock(r.Lane.OpenUntil)
}

// Host returns the URL without parts that may be credentials: see shownURL.
func (r *endpointRow) Host() string { return shownURL(r.URL) }

// shownURL returns a URL without user, query and fragment.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return hidden
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return cut(200, shown.String()) + " …"
	}
	return cut(200, shown.String())
}

// endpointData is the data of one endpoint's page.
type endpointData struct {
	endpointRow
	Said   string // the result of a form
	Replay deliver.Replay
	Recent []deliver.LogEntry // newest first; only from the owner's newest deliveries
}

// Limits of the deliveries on an endpoint's page.
const (
	deliveriesSearched = 200
	deliveriesShown    = 20
)

// endpoint loads the page of one endpoint.
func (c *Console) endpoint(v *view) (any, error) {
	id := v.query.Get("endpoint")
	e, err := c.engine.Endpoints().Get(v.Context(), v.Owner, id)
	if err != nil {
		return nil, refused(err)
	}
	d := &endpointData{endpointRow: c.endpointRow(e), Said: said(v.query.Get("done"), v.query.Get("n"))}
	if d.Replay, err = c.engine.Endpoints().Replaying(v.Context(), v.Owner, id); err != nil && !errors.Is(err, deliver.ErrReplayNotFound) {
		return nil, err
	}
	page, err := c.engine.Log().Deliveries(v.Context(), deliver.LogQuery{Owner: v.Owner, PageSize: deliveriesSearched, NoTotal: true})
	if err != nil {
		return nil, err
	}
	for _, entry := range page.Entries {
		if entry.EndpointID == id && len(d.Recent) < deliveriesShown {
			d.Recent = append(d.Recent, entry)
		}
	}
	return d, nil
}

// actions carry out the forms of an endpoint's page. Each returns the arguments of said.
var actions = map[string]func(c *Console, v *view, id string) (done string, n int, err error){
	"test": func(c *Console, v *view, id string) (string, int, error) {
		r, err := c.engine.Endpoints().Test(v.Context(), v.Owner, id)
		if !r.OK {
			return "test-failed", r.StatusCode, err
		}
		return "test-accepted", r.StatusCode, err
	},
	"recover": func(c *Console, v *view, id string) (string, int, error) {
		n, err := c.engine.Endpoints().Recover(v.Context(), v.Owner, id, c.cfg.Now().Add(-since(v)))
		return "recover", n, err
	},
	"replay": func(c *Console, v *view, id string) (string, int, error) {
		_, err := c.engine.Endpoints().Replay(v.Context(), v.Owner, id, c.cfg.Now().Add(-since(v)), time.Time{})
		return "replay", 0, err
	},
	"enable": func(c *Console, v *view, id string) (string, int, error) {
		_, err := c.engine.Endpoints().Enable(v.Context(), v.Owner, id)
		return "enable", 0, err
	},
	"disable": func(c *Console, v *view, id string) (string, int, error) {
		_, err := c.engine.Endpoints().Disable(v.Context(), v.Owner, id, "disabled in the console")
		return "disable", 0, err
	},
	"pause":  paused(true),
	"resume": paused(false),
}

func paused(on bool) func(c *Console, v *view, id string) (string, int, error) {
	return func(c *Console, v *view, id string) (string, int, error) {
		_, err := c.engine.Endpoints().Update(v.Context(), v.Owner, id, endpoints.Update{Paused: &on})
		if on {
			return "pause", 0, err
		}
		return "resume", 0, err
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

// said returns a sentence about the result of an action, or "" if done is not such a result.
func said(done, n string) string {
	count, err := strconv.Atoi(n)
	if err != nil {
		count = 0
	}
	switch done {
	case "test-accepted":
		return "The test call was accepted with the status " + strconv.Itoa(count) + "."
	case "test-failed":
		return "The test call was not accepted" + cmp.Or(map[bool]string{true: ": the status was " + strconv.Itoa(count)}[count > 0], "") + "."
	case "recover":
		return num(count) + " failed deliveries are sent again."
	case "replay":
		return "A replay has begun."
	case "enable":
		return "The endpoint is enabled."
	case "disable":
		return "The endpoint is disabled."
	case "pause":
		return "The endpoint is paused: deliveries are kept."
	case "resume":
		return "The pause has ended."
	}
	return ""
}

// changeEndpoint carries out a form of an endpoint's page.
func (c *Console) changeEndpoint(v *view) (string, error) {
	id, name := v.query.Get("endpoint"), v.PostForm.Get("action")
	act := actions[name]
	if act == nil {
		names := make([]string, 0, len(actions))
		for n := range actions {
			names = append(names, n)
		}
		slices.Sort(names)
		return "", &failure{http.StatusBadRequest, "The field action is not allowed: want " + strings.Join(names, ", ") + "."}
	}
	done, n, err := act(c, v, id)
	if err != nil {
		return "", refused(err)
	}
	return v.Link("endpoint", "endpoint", id, "done", done, "n", strconv.Itoa(n)), nil
}

// OwnerLink is Link for a page of all owners: the link also chooses the owner.
func (v *view) OwnerLink(owner, path string, pairs ...string) string {
	of := *v
	of.Owner, of.query = owner, url.Values{"owner": {owner}}
	return of.Link(path, pairs...)
}
