package engineui

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
)

// ownerRow is an owner with the balance.
type ownerRow struct {
	search.Owner
	Balance billing.Balance
}

func (c *Console) ownerRow(v *view, o search.Owner) (r ownerRow, err error) {
	r.Owner = o
	if c.cfg.Ledger != nil {
		r.Balance, err = c.cfg.Ledger.Balance(v.Context(), o.Name)
	}
	return r, err
}

// owners loads the list of owners.
func (c *Console) owners(v *view) (any, error) {
	d, err := newList(v)
	if err != nil {
		return nil, err
	}
	list, total, err := c.index.Owners(v.Context(), d.Find, d.Cursor, rowsShown+1)
	if err != nil {
		return nil, err
	}
	d.Total = total
	if len(list) > rowsShown {
		list = list[:rowsShown]
		d.Next = list[rowsShown-1].Name
	}
	for _, o := range list {
		r, err := c.ownerRow(v, o)
		if err != nil {
			return nil, err
		}
		d.Rows = append(d.Rows, r)
	}
	return d, nil
}

// ownerData is what an owner's page shows.
type ownerData struct {
	ownerRow
	TopUp    string // a new id for an entry of the ledger
	Problems []problem
	Newest   map[string][]any // the newest records, by kind
	Events   []deliver.Event
}

// ownerShown is the maximum number of rows of each list on an owner's page.
const ownerShown = 10

// owner loads the page with all that an owner has.
func (c *Console) owner(v *view) (any, error) {
	if from, err := c.chosen(v); err != nil || len(from) > 0 {
		return nil, cmp.Or(err, error(errNotFound))
	}
	o, err := c.index.Owner(v.Context(), v.Owner)
	if err != nil {
		return nil, err
	}
	d := &ownerData{TopUp: "topup_" + rand.Text(), Newest: map[string][]any{}}
	if d.ownerRow, err = c.ownerRow(v, o); err != nil {
		return nil, err
	}
	d.Problems, _, _ = v.problems() // the first page says why they are not known
	for _, kind := range search.Kinds {
		page, err := c.index.List(v.Context(), search.Query{Owner: v.Owner, Kind: kind, Now: c.cfg.Now(), Size: ownerShown})
		if err == nil {
			d.Newest[string(kind)], err = c.rows(v, page.Entries)
		}
		if err != nil {
			return nil, err
		}
	}
	d.Events, err = v.newest(ownerShown)
	return d, err
}

var ownerActions = map[string]action{
	"topup": func(c *Console, v *view) (done, error) {
		if !v.Viewer.All || c.cfg.Ledger == nil {
			return done{}, errNotFound
		}
		amount, err := strconv.ParseFloat(strings.TrimSpace(v.PostForm.Get("amount")), 64)
		id := v.PostForm.Get("id")
		if err != nil || !(amount >= 0.001 && amount <= 1e9) || !strings.HasPrefix(id, "topup_") || len(id) > 64 {
			return done{}, &failure{http.StatusConflict, "The field amount is not allowed: want 0.001 to 1,000,000,000 credits."}
		}
		e := billing.Entry{ID: id, Owner: v.Owner, Kind: billing.KindTopUp, Amount: billing.Credits(amount*float64(billing.Credit) + 0.5), At: c.cfg.Now()}
		return done{ID: id, Said: figure.Credits(e.Amount) + " credits are given."}, refused(c.cfg.Ledger.Append(v.Context(), e))
	},
}
