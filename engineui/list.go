package engineui

import (
	"context"
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
	Rows         any
	Owners       []owned // to choose from, where a list is of one owner and none is chosen
}

// tab is a state by which a list can be filtered.
type tab struct {
	State string // "" for all
	N     int    // number of rows; -1 if it is not known
}

var errCursor = &failure{http.StatusBadRequest, "The cursor is not allowed: want that of a link."}

// newList reads the parameters of a list with these states. total is the sum of their numbers.
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

// list reads a page of records from the index.
func (c *Console) list(v *view, kind record.Kind, states ...string) (*listData, []entry, error) {
	d, err := newList(v, states...)
	if err != nil {
		return nil, nil, err
	}
	f, err := c.index.list(v.Context(), wanted{scope: v.scope(), kind: kind, find: strings.ToLower(d.Find), state: d.State, now: c.cfg.Now(), cursor: d.Cursor, size: rowsShown})
	if err != nil {
		return nil, nil, err
	}
	for _, n := range f.counts {
		d.Total += n
	}
	for i := range d.Tabs {
		d.Tabs[i].N = f.counts[d.Tabs[i].State]
	}
	d.Tabs[0].N, d.Next = d.Total, f.next
	return d, f.entries, nil
}

// rows reads what a page shows of entries. It leaves out records that were deleted meanwhile.
func rows[T any](entries []entry, get func(*entry) (T, error)) ([]T, error) {
	var list []T
	for i := range entries {
		row, err := get(&entries[i])
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
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
func (c *Console) chosen(v *view) (from []owned, err error) {
	if !v.Viewer.All || v.Chosen() {
		return nil, nil
	}
	list, total, err := c.index.ownersBy(v.Context(), "", "", rowsShown)
	if err != nil || total > 1 {
		return list, err
	}
	if total == 1 {
		v.Owner = list[0].Owner
	}
	return nil, nil
}

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
