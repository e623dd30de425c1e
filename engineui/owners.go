package engineui

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
)

// ownerRow is an owner with the balance.
type ownerRow struct {
	owned
	Balance billing.Balance
}

// owners loads the list of owners.
func (c *Console) owners(v *view) (any, error) {
	d, err := newList(v)
	if err != nil {
		return nil, err
	}
	list, total, err := c.index.ownersBy(v.Context(), strings.ToLower(d.Find), d.Cursor, rowsShown+1)
	if err != nil {
		return nil, err
	}
	d.Total, d.Tabs = total, nil
	if len(list) > rowsShown {
		list = list[:rowsShown]
		d.Next = list[rowsShown-1].Owner
	}
	var all []ownerRow
	for _, o := range list {
		r := ownerRow{owned: o}
		if r.Balance, err = c.balance(v, o.Owner); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	d.Rows = all
	return d, nil
}

// balance returns an owner's balance; zero without a ledger.
func (c *Console) balance(v *view, owner string) (billing.Balance, error) {
	if c.cfg.Ledger == nil {
		return billing.Balance{}, nil
	}
	return c.cfg.Ledger.Balance(v.Context(), owner)
}

// ownerData is what an owner's page shows.
type ownerData struct {
	ownerRow
	TopUp string // a new id for an entry of the ledger
	// The newest are shown.
	NewMonitors  []monitorRow
	NewRules     []ruleRow
	NewEndpoints []endpointRow
	Events       []deliver.Event
}

// ownerShown is the maximum number of rows of each list on an owner's page.
const ownerShown = 10

// owner loads the page with all that an owner has.
func (c *Console) owner(v *view) (any, error) {
	if v.Viewer.All && !v.Chosen() {
		return nil, errNotFound
	}
	d := &ownerData{TopUp: "topup_" + rand.Text()}
	newest := map[record.Kind][]entry{}
	for _, kind := range indexed {
		f, err := c.index.list(v.Context(), wanted{scope: scope{owner: v.Owner}, kind: kind, now: c.cfg.Now(), size: ownerShown})
		if err != nil {
			return nil, err
		}
		newest[kind] = f.entries
	}
	var err error
	if err = c.index.use(v.Context(), func() { d.owned = c.index.numbers(v.Owner) }); err != nil {
		return nil, err
	}
	if d.Balance, err = c.balance(v, v.Owner); err != nil {
		return nil, err
	}
	if d.NewMonitors, err = rows(newest[record.Monitor], func(e *entry) (monitorRow, error) { return c.monitorRow(v, e.owner, e.ID) }); err != nil {
		return nil, err
	}
	if d.NewRules, err = rows(newest[record.Rule], func(e *entry) (ruleRow, error) { return c.ruleRow(v, e.owner, e.ID) }); err != nil {
		return nil, err
	}
	if d.NewEndpoints, err = c.endpointRows(v, newest[record.Endpoint]); err != nil {
		return nil, err
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
		return done{ID: id, Said: credits(e.Amount) + " credits are given."}, refused(c.cfg.Ledger.Append(v.Context(), e))
	},
}
