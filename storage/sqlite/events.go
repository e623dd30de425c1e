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

// deliveryColumns are those of a delivery d.
const deliveryColumns = `d.n, d.id, d.endpoint_id, d.state, d.due_at, d.earlier, d.waited, d.endpoint_deleted, (SELECT count(*) FROM attempts a WHERE a.delivery = d.n)`

// scanDelivery scans one. Its event, which those of one event share, is filled
// in when er unpacks, and when it was created is the event's CommittedAt.
func (er *eventReader) scanDelivery(rows *sql.Rows) (n int64, d deliver.Delivery, err error) {
	err = rows.Scan(&n, &d.ID, &d.EndpointID, &d.State, timeColumn{&d.Due}, &d.Uncounted, &d.Waited, &d.EndpointDeleted, &d.Attempts)
	d.Event = er.want(n >> placeBits)
	return n, d, wrap(err)
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
