package engineui

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
)

// Limits of lists.
const (
	rowsShown = 50
	maxFind   = 400 // bytes of what is searched for
)

// listData is a page of a list.
type listData struct {
	Find, State  string
	Tabs         []tab
	Total        int // of all pages and states
	Cursor, Next string
	Rows         []any
	Owners       []search.Owner // to choose from, where a list is of one owner and none is chosen
}

// tab is a state by which a list can be filtered.
type tab struct {
	State string // "" for all
	N     int    // number of rows; -1 if it is not known
}

var errCursor = &failure{http.StatusBadRequest, "The cursor is not allowed: want that of a link."}

// newList reads the parameters of a list with these states.
func newList(v *view, states ...string) (*listData, error) {
	d := &listData{Find: strings.TrimSpace(v.query.Get("find")), State: v.query.Get("state"), Cursor: v.query.Get("cursor")}
	if len(d.Find) > maxFind {
		return nil, &failure{http.StatusBadRequest, "What you search for is too long: want at most 400 bytes."}
	}
	if d.State != "" && !slices.Contains(states, d.State) {
		return nil, &failure{http.StatusBadRequest, "The parameter state is not allowed: want " + strings.Join(states, ", ") + "."}
	}
	for _, s := range append([]string{""}, states...) {
		d.Tabs = append(d.Tabs, tab{s, -1})
	}
	return d, nil
}

// listOf loads a list of the records of a kind.
func listOf(kind record.Kind, states ...string) func(*Console, *view) (any, error) {
	return func(c *Console, v *view) (any, error) { return c.list(v, kind, states...) }
}

func (c *Console) list(v *view, kind record.Kind, states ...string) (*listData, error) {
	d, err := newList(v, states...)
	if err != nil {
		return nil, err
	}
	of := v.scope()
	q := search.Query{Kind: kind, All: of.all, Owner: of.owner, Find: d.Find, State: d.State, Now: c.cfg.Now(), Troubled: map[record.Key]bool{}, Cursor: d.Cursor, Size: rowsShown}
	problems, _, _ := v.problems() // the first page says why they are not known
	for _, p := range problems {
		q.Troubled[record.Key{Kind: kind, ID: p.ID}] = p.Path == string(kind)+"s"
	}
	page, err := c.index.List(v.Context(), q)
	if errors.Is(err, search.ErrCursor) {
		return nil, errCursor
	}
	if err != nil {
		return nil, err
	}
	for _, n := range page.Counts {
		d.Total += n
	}
	for i := range d.Tabs {
		d.Tabs[i].N = page.Counts[d.Tabs[i].State]
	}
	d.Tabs[0].N, d.Next = d.Total, page.Next
	d.Rows, err = c.rows(v, page.Entries)
	return d, err
}

// rows reads the records of a page. It leaves out those that were deleted meanwhile.
func (c *Console) rows(v *view, entries []search.Entry) (list []any, err error) {
	var ends []*endpointRow
	for _, e := range entries {
		var row any
		switch e.Kind {
		case record.Monitor:
			row, err = c.engine.Monitors().Get(v.Context(), e.Owner, e.ID)
		case record.Rule:
			row, err = c.engine.Rules().Get(v.Context(), e.Owner, e.ID)
		case record.Endpoint:
			var ep deliver.Endpoint
			if ep, err = c.engine.Endpoints().Get(v.Context(), e.Owner, e.ID); err == nil {
				ends = append(ends, c.endpointRow(&ep))
				row = ends[len(ends)-1]
			}
		case record.APIKey:
			row, err = c.keyRow(v, &e)
		}
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, c.addHealth(v, ends)
}

// gone reports whether an error says that there is no such record of the owner.
func gone(err error) bool {
	for _, missing := range []error{record.ErrNotFound, endpoints.ErrSourceNotFound, monitor.ErrNotFound, rule.ErrNotFound, apikey.ErrNotFound, deliver.ErrEndpointNotFound, deliver.ErrDeliveryNotFound} {
		if errors.Is(err, missing) {
			return true
		}
	}
	return false
}

// refused converts an error of a manager to a message for the viewer.
func refused(err error) error {
	if gone(err) {
		return errNotFound
	}
	var field *deliver.FieldError
	if errors.As(err, &field) {
		return &failure{http.StatusConflict, fmt.Sprintf("The field %s is not allowed: want %s.", strings.ReplaceAll(field.Wire, "_", " "), field.Allowed)}
	}
	for _, why := range []struct {
		err  error
		text string
	}{
		{monitor.ErrDuplicate, "There is a monitor of this name."}, {rule.ErrDuplicate, "There is a rule of this name."},
		{deliver.ErrEndpointDuplicate, "This URL gets its posts already."}, {deliver.ErrReplayRunning, "A replay is under way; wait for its end."},
		{billing.ErrInsufficient, "The credits do not suffice."}, {apikey.ErrTooMany, "There are too many keys: revoke one first."},
		{deliver.ErrSealed, "The secret of the endpoint cannot be opened with the keys that are there."},
	} {
		if errors.Is(err, why.err) {
			return &failure{http.StatusConflict, "Refused: " + why.text}
		}
	}
	if quota := (*streamwatch.QuotaError)(nil); errors.As(err, &quota) {
		return &failure{http.StatusConflict, fmt.Sprintf("Refused: at most %d %s are allowed.", quota.Limit, quota.Quota)}
	}
	return running(err)
}

// chosen finds the owner of a page of one owner's records: an operator may have chosen one, and need
// not if there is only one. Otherwise it returns some to choose from.
func (c *Console) chosen(v *view) (from []search.Owner, err error) {
	if !v.Viewer.All || v.Chosen() {
		return nil, nil
	}
	list, total, err := c.index.Owners(v.Context(), "", "", rowsShown)
	if err != nil || total > 1 {
		return list, err
	}
	if total == 1 {
		v.Owner = list[0].Name
	}
	return nil, nil
}
