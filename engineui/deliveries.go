package engineui

import (
	"errors"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// searched is the number of an owner's deliveries or events that a search reads for one page.
const searched = 500

// deliveriesData is a list of deliveries.
type deliveriesData struct {
	*listData
	Deliveries []deliver.LogEntry
	Searched   int // number of deliveries read for a search
}

// deliveries loads the list of an owner's deliveries.
func (c *Console) deliveries(v *view) (any, error) {
	from, err := c.chosen(v)
	if err != nil {
		return nil, err
	}
	if len(from) > 0 {
		return &deliveriesData{listData: &listData{Owners: from}}, nil
	}
	return c.deliveriesOf(v, "")
}

var deliveryStates = []string{string(deliver.StatePending), string(deliver.StateRetrying), string(deliver.StateFailed), string(deliver.StateDelivered)}

// deliveriesOf reads a page of the owner's deliveries, or of those to one endpoint. A search reads
// more of them, and the next page goes on behind the last that was read.
func (c *Console) deliveriesOf(v *view, endpoint string) (*deliveriesData, error) {
	list, err := newList(v, deliveryStates...)
	if err != nil {
		return nil, err
	}
	d := &deliveriesData{listData: list}
	q := deliver.LogQuery{Owner: v.Owner, EndpointID: endpoint, State: deliver.State(d.State), Cursor: d.Cursor, PageSize: rowsShown, NoTotal: true}
	find := strings.ToLower(d.Find)
	for {
		page, err := c.engine.Log().Deliveries(v.Context(), q)
		var field *deliver.FieldError
		if errors.As(err, &field) {
			return nil, errCursor
		}
		if err != nil {
			return nil, err
		}
		d.Next, d.Searched = page.Next, d.Searched+len(page.Entries)
		for _, entry := range page.Entries {
			if matches(entry.Event, find, entry.ID, entry.EndpointID) {
				d.Deliveries = append(d.Deliveries, entry)
			}
		}
		if q.Cursor = d.Next; d.Next == "" || len(d.Deliveries) >= rowsShown || d.Searched >= searched {
			return d, nil
		}
	}
}

// matches reports whether a search for a text in lower case finds an event by its account, its text,
// its source or an id.
func matches(e *deliver.Event, find string, ids ...string) bool {
	for _, text := range append(ids, account(*e), e.TextPreview, e.Source.Name, e.ID, e.TweetID) {
		if strings.Contains(strings.ToLower(text), find) {
			return true
		}
	}
	return false
}

// lastAttempt returns the last attempt of a delivery, or nil.
func lastAttempt(d deliver.LogEntry) *deliver.Attempt {
	if len(d.Log) == 0 {
		return nil
	}
	return &d.Log[len(d.Log)-1]
}
