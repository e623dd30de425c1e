package engineui

import (
	"errors"
	"net/http"

	"github.com/streamwatch/streamwatch/billing"
)

// creditsShown is the number of entries on a page.
const creditsShown = 50

// creditsData is an owner's balance and a page of ledger entries.
type creditsData struct {
	Balance billing.Balance
	Entries []billing.Entry
	Cursor  string // cursor of this page; "" for the newest entries
	Next    string
}

// credits loads the page of an owner's balance and charges.
func (c *Console) credits(v *view) (any, error) {
	d := creditsData{Cursor: v.query.Get("cursor")}
	var err error
	if d.Balance, err = c.cfg.Ledger.Balance(v.Context(), v.Owner); err != nil {
		return nil, err
	}
	page, err := c.cfg.Ledger.Entries(v.Context(), billing.EntryQuery{Owner: v.Owner, Cursor: d.Cursor, PageSize: creditsShown, NoTotal: true})
	if errors.Is(err, billing.ErrCursor) {
		return nil, &failure{http.StatusBadRequest, "The cursor is not allowed: want that of a link."}
	}
	d.Entries, d.Next = page.Entries, page.Next
	return d, err
}
