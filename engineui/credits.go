package engineui

import (
	"errors"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/search"
)

// creditsData is an owner's balance and a page of ledger entries.
type creditsData struct {
	Balance billing.Balance
	Entries []billing.Entry
	Cursor  string // cursor of this page; "" for the newest entries
	Next    string
	Owners  []search.Owner // to choose from
}

// credits loads the page of an owner's balance and charges.
func (c *Console) credits(v *view) (any, error) {
	d := creditsData{Cursor: v.query.Get("cursor")}
	var err error
	if d.Owners, err = c.chosen(v); err != nil || len(d.Owners) > 0 {
		return d, err
	}
	if d.Balance, err = c.cfg.Ledger.Balance(v.Context(), v.Owner); err != nil {
		return nil, err
	}
	page, err := c.cfg.Ledger.Entries(v.Context(), billing.EntryQuery{Owner: v.Owner, Cursor: d.Cursor, PageSize: rowsShown, NoTotal: true})
	if errors.Is(err, billing.ErrCursor) {
		return nil, errCursor
	}
	d.Entries, d.Next = page.Entries, page.Next
	return d, err
}
