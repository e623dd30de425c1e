package redisstore

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
)

// appendEvent appends the record of an event, without its id and number. The body comes last.
func appendEvent(e encoder, ev *deliver.Event, committed time.Time) encoder {
	e = append(e, recordForm)
	for _, s := range [...]string{
		ev.Source.Owner, string(ev.Source.Kind), ev.Source.ID, ev.Source.Name, ev.TweetID, ev.AuthorUsername, ev.TextPreview, ev.TweetURL,
	} {
		e.text(s)
	}
	for _, t := range [...]time.Time{
		ev.PublishedAt, ev.EarliestAt, ev.RequestedAt, ev.FetchedAt, ev.DetectedAt, committed,
	} {
		e.instant(t)
	}
	e.number(int64(ev.Latency))
	e.number(int64(len(ev.Handlers)))
	for _, h := range ev.Handlers {
		e.text(h)
	}
	e.text(ev.Platform)
	return append(e, ev.Body...)
}

// decodeEvent decodes a stored event. Its sequence number is not part of the record.
func decodeEvent(id, stored string) (*deliver.Event, error) {
	ev := &deliver.Event{ID: id}
	d := newDecoder(stored)
	ev.Source.Owner, ev.Source.Kind = d.text(), deliver.SourceKind(d.text())
	for _, s := range []*string{
		&ev.Source.ID, &ev.Source.Name, &ev.TweetID, &ev.AuthorUsername, &ev.TextPreview, &ev.TweetURL,
	} {
		*s = d.text()
	}
	for _, t := range []*time.Time{
		&ev.PublishedAt, &ev.EarliestAt, &ev.RequestedAt, &ev.FetchedAt, &ev.DetectedAt, &ev.CommittedAt,
	} {
		*t = d.instant()
	}
	ev.Latency = time.Duration(d.number())
	for n := d.number(); n > 0 && d.err == nil; n-- {
		ev.Handlers = append(ev.Handlers, d.text())
	}
	ev.Platform = d.text()
	ev.Body = []byte(d.rest)
	return ev, d.err
}

// stateLetters maps the states to the letters that are stored.
var stateLetters = map[deliver.State]string{
	deliver.StatePending: "p", deliver.StateRetrying: "r", deliver.StateDelivered: "d", deliver.StateFailed: "f",
}

func stateOf(letter string) (deliver.State, error) {
	for state, l := range stateLetters {
		if l == letter {
			return state, nil
		}
	}
	return "", errRecord
}

// appendDelivery encodes a new delivery, without the beginning, which the script adds: see
// lua/delivery.lua.
func appendDelivery(ev *deliver.Event, owner, lane string, created time.Time) []byte {
	e := make(encoder, 0, 64+len(ev.ID)+len(owner)+len(lane)+len(ev.Source.ID)+len(ev.AuthorUsername))
	e = appendField(e, ev.ID)
	e = appendField(e, owner)
	e = appendField(e, lane)
	e = appendField(e, ev.Source.ID)
	e = appendField(e, withoutCase(ev.AuthorUsername))
	e = appendField(e, string(ev.Source.Kind))
	e = append(e, recordForm)
	e.instant(created)
	return e
}

// deletedDue is stored as the due time of a delivery that ended because its endpoint was
// deleted: see lua/delivery.lua.
const deletedDue = "0000000000000001"

// The stored number of attempts has two parts. The lower 16 bits are the number of attempts, the
// upper bits how many of these do not count.
const (
	attemptBits = 16
	maxAttempts = 1<<attemptBits - 1
)

// decodeDelivery decodes a stored delivery. It sets the delivery's Event to the one in events, or
// nil if there is none, and sets the event's sequence number.
func decodeDelivery(id, stored string, events map[string]*deliver.Event) (deliver.Delivery, error) {
	d := decoder{rest: stored}
	state, err := stateOf(d.take(1))
	d.keep(err)
	due := d.take(stampLen)
	attempts := d.digits(8)
	d.take(stampLen) // the number
	seq := d.digits(stampLen)
	event := d.field()
	d.field() // the owner
	lane := d.field()
	for range 3 { // what scripts search for: source, author and kind
		d.field()
	}
	d.form()
	dl := deliver.Delivery{ID: id, State: state, Attempts: int(attempts & maxAttempts), Uncounted: int(attempts >> attemptBits),
		CreatedAt: d.instant(), Event: events[event]}
	dl.EndpointID, err = endpointOf(lane)
	d.keep(err)
	if d.rest != "" {
		ms, err := decimal(d.rest)
		d.keep(err)
		dl.Waited = time.Duration(ms) * time.Millisecond
	}
	if dl.EndpointDeleted = dl.State == deliver.StateFailed && due == deletedDue; !dl.EndpointDeleted {
		dl.Due = d.stamp(due)
	}
	if dl.Event != nil {
		dl.Event.Seq = seq
	}
	return dl, d.err
}

// eventsByID decodes a list of ids and records of events.
func eventsByID(stored []any) (map[string]*deliver.Event, error) {
	events := make(map[string]*deliver.Event, len(stored)/2)
	for i := 0; i+1 < len(stored); i += 2 {
		ev, err := decodeEvent(text(stored[i]), text(stored[i+1]))
		if err != nil {
			return nil, err
		}
		events[ev.ID] = ev
	}
	return events, nil
}

// appendAttempt encodes an attempt, without its number.
func appendAttempt(a *deliver.Attempt) []byte {
	e := newEncoder(32 + len(a.Error) + len(a.ResponsePreview))
	e.instant(a.At)
	e.number(int64(a.Duration))
	e.number(int64(a.StatusCode))
	e.text(a.Error)
	e.text(a.ResponsePreview)
	return e
}

// decodeAttempts decodes the attempts of a delivery, in order.
func decodeAttempts(stored string) (log []deliver.Attempt, err error) {
	for all := (decoder{rest: stored}); all.rest != ""; {
		n := all.digits(stampLen)
		d := newDecoder(all.field())
		a := deliver.Attempt{N: int(n), At: d.instant(), Duration: time.Duration(d.number()), StatusCode: int(d.number())}
		a.Error, a.ResponsePreview = d.text(), d.text()
		if err := cmp.Or(all.err, d.err); err != nil {
			return nil, err
		}
		log = append(log, a)
	}
	return log, nil
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

// numbers parses decimal numbers separated by spaces.
func numbers(s string) ([]uint64, error) {
	var list []uint64
	for word := range strings.FieldsSeq(s) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, errRecord
		}
		list = append(list, n)
	}
	return list, nil
}
