package sqlstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// eventColumns are the columns of the table events that scanEvent reads. A row to insert also has
// author_key at the end: see eventValues.
const (
	eventColumns = `n, id, owner, seq, source_kind, source_id, source_name, tweet_id, author_username, text_preview, tweet_url, platform,
		published_at, earliest_at, requested_at, fetched_at, detected_at, committed_at, latency, handlers, body`
	insertEvents = `{insert} events (` + eventColumns + `, author_key)
		{rows int,text,text,int,text,text,text,text,text,text,text,text,int,int,int,int,int,int,int,text,bytes,text}`
)

// eventValues appends a row of table events to values.
func eventValues(values []any, n int64, ev *deliver.Event) []any {
	return append(values, n, ev.ID, ev.Source.Owner, int64(ev.Seq), string(ev.Source.Kind), ev.Source.ID, ev.Source.Name,
		ev.TweetID, ev.AuthorUsername, ev.TextPreview, ev.TweetURL, ev.Platform,
		optional(ev.PublishedAt), optional(ev.EarliestAt), optional(ev.RequestedAt), optional(ev.FetchedAt), optional(ev.DetectedAt),
		nanos(ev.CommittedAt), int64(ev.Latency), JSON{ev.Handlers}, ev.Body, withoutCase(ev.AuthorUsername))
}

func scanEvent(rows Rows, n *int64, ev *deliver.Event) error {
	return rows.Scan(n, &ev.ID, &ev.Source.Owner, &ev.Seq, &ev.Source.Kind, &ev.Source.ID, &ev.Source.Name,
		&ev.TweetID, &ev.AuthorUsername, &ev.TextPreview, &ev.TweetURL, &ev.Platform,
		timeColumn{&ev.PublishedAt}, timeColumn{&ev.EarliestAt}, timeColumn{&ev.RequestedAt}, timeColumn{&ev.FetchedAt}, timeColumn{&ev.DetectedAt},
		timeColumn{&ev.CommittedAt}, (*int64)(&ev.Latency), JSON{&ev.Handlers}, &ev.Body)
}

// ErrMissing means that a delivery has no event.
var ErrMissing = errors.New("events are missing")

// readEvents reads the events with these numbers. It returns ErrMissing if one is not there.
func readEvents(q Querier, ns map[int64]bool) (map[int64]*deliver.Event, error) {
	events := make(map[int64]*deliver.Event, len(ns))
	list := Ints(slices.Collect(maps.Keys(ns)))
	err := each(q, `SELECT `+eventColumns+` FROM events WHERE n IN {ints ?}`, []any{list}, func(rows Rows) error {
		var n int64
		ev := new(deliver.Event)
		err := scanEvent(rows, &n, ev)
		events[n] = ev
		return err
	})
	if err == nil && len(events) < len(ns) {
		err = fmt.Errorf("%d %w", len(ns)-len(events), ErrMissing)
	}
	return events, err
}

// A delivery's number is its event's number, followed by placeBits bits for its place in the event.
// Thus neither an event nor a delivery needs an index to find the other.
const (
	placeBits     = 16
	maxDeliveries = 1 << placeBits // maximum per event
)

// firstDelivery returns the number of an event's first delivery.
func firstDelivery(event int64) int64 { return event << placeBits }

// ofEvent returns the SQL condition that a delivery belongs to an event. The arguments are SQL
// expressions for their numbers.
func ofEvent(delivery, event string) string {
	return fmt.Sprintf("%s BETWEEN %[2]s << %[3]d AND (%[2]s << %[3]d) + %[4]d", delivery, event, placeBits, maxDeliveries-1)
}

// isOpen is the SQL condition that delivery d of a known event has not ended. It does not say
// due_at IS NOT NULL: PostgreSQL would go through an index of all open deliveries, of which there
// were few when it made its plan, rather than find those of the event.
const isOpen = `d.state IN ('pending', 'retrying')`

// deliveryRow is a delivery with its number.
type deliveryRow struct {
	n int64
	deliver.Delivery
}

func (d *deliveryRow) event() int64 { return d.n >> placeBits }

// deliveryColumns are the columns of a delivery d, in the order of scanDelivery.
const deliveryColumns = `d.n, d.id, d.endpoint_id, d.state, d.due_at, d.attempts, d.uncounted, d.waited, d.endpoint_deleted`

// scanDelivery reads all fields of a delivery except Event and CreatedAt.
func scanDelivery(rows Rows, d *deliveryRow) error {
	return rows.Scan(&d.n, &d.ID, &d.EndpointID, &d.State, timeColumn{&d.Due}, &d.Attempts, &d.Uncounted, (*int64)(&d.Waited), &d.EndpointDeleted)
}

// insertDeliveries is the statement for new deliveries, whose rows deliveryValues appends.
func (s *Store) insertDeliveries() string {
	if s.Lanes {
		return `{insert} deliveries (n, id, endpoint_id, due_at, part) {rows int,text,text,int,int}`
	}
	return `{insert} deliveries (n, id, endpoint_id, due_at) {rows int,text,text,int}`
}

func (s *Store) deliveryValues(values []any, n int64, d *deliver.Delivery) []any {
	values = append(values, n, d.ID, d.EndpointID, nanos(d.Due))
	if s.Lanes {
		values = append(values, int64(fleet.PartOf(d.EndpointID)))
	}
	return values
}

// attemptColumns are the columns of an attempt, in the order of scanAttempt. A row to insert also has
// the attempt's place in the log of its delivery.
const (
	attemptColumns = `delivery, attempt, at, duration, status_code, error, response_preview`
	insertAttempts = `{insert} attempts (` + attemptColumns + `, place) {rows int,int,int,int,int,text,text,int}`
)

func scanAttempt(rows Rows, delivery *int64) (a deliver.Attempt, err error) {
	err = rows.Scan(delivery, &a.N, timeColumn{&a.At}, (*int64)(&a.Duration), &a.StatusCode, &a.Error, &a.ResponsePreview)
	return a, err
}

func appendAttempt(values []any, delivery int64, place int, a *deliver.Attempt) []any {
	return append(values, delivery, a.N, optional(a.At), int64(a.Duration), a.StatusCode, a.Error, a.ResponsePreview, place)
}

// addEvents sets the Event of each delivery. Deliveries of the same event share one Event.
func addEvents(q Querier, ds []deliveryRow) error {
	ns := make(map[int64]bool)
	for i := range ds {
		ns[ds[i].event()] = true
	}
	events, err := readEvents(q, ns)
	for i := range ds {
		if err == nil {
			ds[i].Event = events[ds[i].event()]
			ds[i].CreatedAt = ds[i].Event.CommittedAt
		}
	}
	return err
}

// withoutCase maps strings that are equal under strings.EqualFold to the same string: it
// replaces each letter with the smallest rune that it is equal to.
func withoutCase(s string) string {
	return strings.Map(func(r rune) rune {
		smallest := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			smallest = min(smallest, f)
		}
		return smallest
	}, s)
}
