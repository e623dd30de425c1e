package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
)

// A delivery's n is that of its event and its place among the event's, so that
// each leads to the other without an index.
const (
	placeBits     = 16
	maxDeliveries = 1 << placeBits // of an event
)

func firstDelivery(event int64) int64 { return event << placeBits }

// ofEvent is the SQL condition that a delivery is one of an event.
func ofEvent(delivery, event string) string {
	return fmt.Sprintf("%s BETWEEN %[2]s << %[3]d AND (%[2]s << %[3]d) + %[4]d", delivery, event, placeBits, maxDeliveries-1)
}

// deliveryColumns are those of a delivery d with its event e.
const deliveryColumns = `d.n, d.id, d.endpoint_id, d.state, d.due_at, d.earlier,
	(SELECT count(*) FROM attempts a WHERE a.delivery = d.n), ` + eventColumns

// scanDelivery scans one. Its event, which those of one event share, and when it
// was created are whole once er has unpacked.
func (er *eventReader) scanDelivery(rows *sql.Rows) (n int64, d deliver.Delivery, err error) {
	var event int64
	ev := new(deliver.Event)
	err = rows.Scan(append([]any{
		&n, &d.ID, &d.EndpointID, &d.State, timeColumn{&d.Due}, &d.Earlier, &d.Attempts,
	}, eventInto(&event, ev)...)...)
	if err != nil {
		return 0, d, wrap(err)
	}
	d.Event = er.keep(event, ev)
	return n, d, nil
}

// withoutCase maps strings to the same one if strings.EqualFold holds: each
// letter to the smallest of those it equals.
func withoutCase(s string) string {
	return strings.Map(func(r rune) rune {
		smallest := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			smallest = min(smallest, f)
		}
		return smallest
	}, s)
}
