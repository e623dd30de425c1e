package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
)

// eventColumns are those of an event e, as eventInto scans them.
const eventColumns = `e.id, e.owner, e.seq, e.source_kind, e.source_id, e.source_name,
	e.tweet_id, e.author_username, e.text_preview, e.tweet_url,
	e.published_at, e.earliest_at, e.requested_at, e.fetched_at, e.detected_at, e.committed_at,
	e.latency, e.handlers, e.body`

func eventInto(ev *deliver.Event) []any {
	return []any{
		&ev.ID, &ev.Source.Owner, &ev.Seq, &ev.Source.Kind, &ev.Source.ID, &ev.Source.Name,
		&ev.TweetID, &ev.AuthorUsername, &ev.TextPreview, &ev.TweetURL,
		timeColumn{&ev.PublishedAt}, timeColumn{&ev.EarliestAt}, timeColumn{&ev.RequestedAt},
		timeColumn{&ev.FetchedAt}, timeColumn{&ev.DetectedAt}, timeColumn{&ev.CommittedAt},
		(*int64)(&ev.Latency), jsonColumn{&ev.Handlers}, &ev.Body,
	}
}

// insertEvent gives the event's n.
func (t *tx) insertEvent(ev *deliver.Event) (int64, error) {
	handlers, err := listJSON(ev.Handlers)
	if err != nil {
		return 0, err
	}
	n, err := t.insert(`INSERT INTO events (id, owner, seq, source_kind, source_id, source_name,
		tweet_id, author_username, author_key, text_preview, tweet_url,
		published_at, earliest_at, requested_at, fetched_at, detected_at, committed_at, latency, handlers, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		ev.ID, ev.Source.Owner, int64(ev.Seq), string(ev.Source.Kind), ev.Source.ID, ev.Source.Name,
		ev.TweetID, ev.AuthorUsername, withoutCase(ev.AuthorUsername), ev.TextPreview, ev.TweetURL,
		optional(ev.PublishedAt), optional(ev.EarliestAt), optional(ev.RequestedAt), optional(ev.FetchedAt),
		optional(ev.DetectedAt), nanos(ev.CommittedAt), int64(ev.Latency), handlers, ev.Body)
	if err != nil {
		return 0, err
	}
	t.events++
	return n, nil
}

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
const deliveryColumns = `d.n, d.id, d.endpoint_id, d.state, d.due_at, d.earlier, e.n,
	(SELECT count(*) FROM attempts a WHERE a.delivery = d.n), ` + eventColumns

// deliveryReader scans deliveries; those of one event share it.
type deliveryReader struct{ events map[int64]*deliver.Event }

func (dr *deliveryReader) scan(rows *sql.Rows) (n int64, d deliver.Delivery, err error) {
	var event int64
	ev := new(deliver.Event)
	err = rows.Scan(append([]any{
		&n, &d.ID, &d.EndpointID, &d.State, timeColumn{&d.Due}, &d.Earlier, &event, &d.Attempts,
	}, eventInto(ev)...)...)
	if err != nil {
		return 0, d, wrap(err)
	}
	if dr.events[event] == nil {
		dr.events[event] = ev
	}
	d.Event = dr.events[event]
	d.CreatedAt = ev.CommittedAt // the same moment
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
