package redisstore

import (
	"errors"
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

func stateOf(letter byte) (deliver.State, error) {
	for state, l := range stateLetters {
		if l[0] == letter {
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

// Offsets of the parts of a stored delivery.
const (
	atDue      = 1
	atAttempts = atDue + stampLen
	atNumber   = atAttempts + 8
	atSeq      = atNumber + stampLen
	atFields   = atSeq + stampLen
)

// The stored number of attempts has two parts. The lower 16 bits are the number of attempts, the
// upper bits how many of these do not count.
const (
	attemptBits = 16
	maxAttempts = 1<<attemptBits - 1
)

// decodeDelivery decodes a stored delivery. It sets the delivery's Event to the one in events, or
// nil if there is none, and sets the event's sequence number.
func decodeDelivery(id, stored string, events map[string]*deliver.Event) (d deliver.Delivery, err error) {
	if len(stored) < atFields {
		return d, errRecord
	}
	var event, owner, lane, source, author, kind string
	rest, err := cutFields(stored[atFields:], &event, &owner, &lane, &source, &author, &kind)
	if err != nil {
		return d, err
	}
	var errs [5]error
	var attempts, seq uint64
	d.ID = id
	d.State, errs[0] = stateOf(stored[0])
	d.Due, errs[1] = fromStamp(stored[atDue:atAttempts])
	attempts, errs[2] = fromHex(stored[atAttempts:atNumber])
	seq, errs[3] = fromHex(stored[atSeq:atFields])
	d.EndpointID, errs[4] = endpointOf(lane)
	dec := newDecoder(rest)
	d.CreatedAt = dec.instant()
	d.Attempts, d.Uncounted = int(attempts&maxAttempts), int(attempts>>attemptBits) // see lua/delivery.lua
	if dec.err == nil && dec.rest != "" {
		ms, err := decimal(dec.rest)
		d.Waited, dec.err = time.Duration(ms)*time.Millisecond, err
	}
	if d.EndpointDeleted = d.State == deliver.StateFailed && stored[atDue:atAttempts] == deletedDue; d.EndpointDeleted {
		d.Due, errs[1] = time.Time{}, nil
	}
	if d.Event = events[event]; d.Event != nil {
		d.Event.Seq = seq
	}
	return d, errors.Join(errs[0], errs[1], errs[2], errs[3], errs[4], dec.err)
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
	for stored != "" {
		if len(stored) < stampLen {
			return nil, errRecord
		}
		n, err := fromHex(stored[:stampLen])
		if err != nil {
			return nil, err
		}
		var record string
		if record, stored, err = cutField(stored[stampLen:]); err != nil {
			return nil, err
		}
		d := newDecoder(record)
		a := deliver.Attempt{N: int(n), At: d.instant(), Duration: time.Duration(d.number()), StatusCode: int(d.number())}
		a.Error, a.ResponsePreview = d.text(), d.text()
		if d.err != nil {
			return nil, d.err
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
