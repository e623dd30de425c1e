package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// What nobody searches by is most of an event. It lies in packs, some events to
// a row, since it is written at once: rows of a kilobyte each would leave a
// quarter of their pages empty, and cost as much again for their columns.
//
// An event's n is that of its pack and its place there, so that each leads to
// the other without an index.
const (
	packBits  = 10
	packMost  = 1 << packBits // events
	packBytes = 32 << 10      // closes a pack; read whole for any of its events
	packsKept = 4 << 20
)

// packedOwner is SQL for the owner of an event, by its n.
func packedOwner(event string) string {
	const place = 10 // see packer.add
	return fmt.Sprintf("(SELECT p.fields -> (%[1]s & %[2]d) ->> %[3]d FROM packs p WHERE p.n = %[1]s >> %[4]d)", event, packMost-1, place, packBits)
}

// packer writes packs. Its rows are good until it is reset.
type packer struct {
	n              int64 // of the pack
	count          int   // events in it
	fields, bodies []byte
	packs          []pack
}

// pack says where it ends in the packer's fields and bodies.
type pack struct {
	n              int64
	fields, bodies int
}

// reset begins anew behind the n-th pack. Space for more than packsKept bytes, as
// few commits need it, is given back.
func (p *packer) reset(n int64) {
	if cap(p.fields)+cap(p.bodies) > packsKept {
		p.fields, p.bodies = nil, nil
	}
	*p = packer{n: n, fields: p.fields[:0], bodies: p.bodies[:0], packs: p.packs[:0]}
}

// last is where the last whole pack ends.
func (p *packer) last() pack {
	if len(p.packs) == 0 {
		return pack{}
	}
	return p.packs[len(p.packs)-1]
}

// add gives the event's n. Its fields are an array; times but the first are how
// long before it they were, null for none.
func (p *packer) add(ev *deliver.Event) int64 {
	before := p.last()
	if p.count == packMost || len(p.fields)-before.fields+len(p.bodies)-before.bodies >= packBytes {
		p.close()
		before = p.last()
	}
	b := p.fields
	if p.count == 0 {
		p.n++
		b = append(b, "[["...)
	} else {
		b = append(b, ",\n["...)
	}
	n := p.n<<packBits | int64(p.count)
	p.count++
	committed := nanos(ev.CommittedAt)
	b = strconv.AppendInt(b, int64(len(p.bodies)-before.bodies), 10)
	b = strconv.AppendInt(append(b, ','), int64(len(ev.Body)), 10)
	b = strconv.AppendInt(append(b, ','), committed, 10)
	b = strconv.AppendInt(append(b, ','), int64(ev.Latency), 10)
	for _, at := range [...]*time.Time{&ev.PublishedAt, &ev.EarliestAt, &ev.RequestedAt, &ev.FetchedAt, &ev.DetectedAt} {
		if b = append(b, ','); at.IsZero() {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, committed-nanos(*at), 10)
		}
	}
	b = fetcher.AppendString(append(b, ','), ev.ID)
	b = fetcher.AppendString(append(b, ','), ev.Source.Owner)
	b = strconv.AppendUint(append(b, ','), ev.Seq, 10)
	for _, text := range [...]string{string(ev.Source.Kind), ev.Source.ID, ev.Source.Name, ev.TweetID, ev.AuthorUsername, ev.TextPreview, ev.TweetURL} {
		b = fetcher.AppendString(append(b, ','), text)
	}
	for _, name := range ev.Handlers {
		b = fetcher.AppendString(append(b, ','), name)
	}
	p.fields, p.bodies = append(b, ']'), append(p.bodies, ev.Body...)
	return n
}

// close ends the pack under way.
func (p *packer) close() {
	if p.count > 0 {
		p.fields = append(p.fields, ']')
		p.packs = append(p.packs, pack{p.n, len(p.fields), len(p.bodies)})
		p.count = 0
	}
}

// rows are the values of packs to write: n, total, entered, cursors, fields and
// bodies.
func (p *packer) rows(total int, entered int64, moved []cursorRow) []any {
	p.close()
	var cursors any
	if len(moved) > 0 {
		cursors = string(appendCursors(nil, moved))
		if len(p.packs) == 0 {
			p.n++
			return []any{p.n, total, entered, cursors, nil, nil}
		}
	}
	values := make([]any, 0, 6*len(p.packs))
	var before pack
	for _, k := range p.packs {
		values = append(values, k.n, total, entered, cursors, string(p.fields[before.fields:k.fields]), p.bodies[before.bodies:k.bodies])
		before, cursors = k, nil
	}
	return values
}

// eventReader reads events by their n.
type eventReader struct {
	events map[int64]*deliver.Event
	full   map[int64]int // packs read, and how many events each had
}

func newEventReader() eventReader {
	return eventReader{make(map[int64]*deliver.Event), make(map[int64]int)}
}

// want gives the event with this n, which unpack fills in.
func (er *eventReader) want(n int64) *deliver.Event {
	ev := er.events[n]
	if ev == nil {
		ev = new(deliver.Event)
		er.events[n] = ev
	}
	return ev
}

// unpack reads the events that are wanted.
func (er *eventReader) unpack(a asker) error {
	places := make(map[int64][]int64)
	for n := range er.events {
		places[n>>packBits] = append(places[n>>packBits], n)
	}
	packs := make([]int64, 0, len(places))
	for pack := range places {
		packs = append(packs, pack)
	}
	list, err := listJSON(packs)
	if list == nil || err != nil {
		return err
	}
	err = each(a, `SELECT n, fields, bodies FROM packs WHERE n IN (SELECT value FROM json_each(?))`, []any{list}, func(rows *sql.Rows) error {
		var pack int64
		var fields, bodies sql.RawBytes
		if err := rows.Scan(&pack, &fields, &bodies); err != nil {
			return wrap(err)
		}
		lines := bytes.Split(fields, []byte("\n"))
		for _, n := range places[pack] {
			place := int(n & (packMost - 1))
			if place >= len(lines) {
				return fmt.Errorf("%w: pack %d has no event %d", ErrCorrupt, pack, place)
			}
			if err := unpack(er.events[n], lines[place], bodies); err != nil {
				return fmt.Errorf("%w: event %d of pack %d: %w", ErrCorrupt, place, pack, err)
			}
		}
		er.full[pack] = len(lines)
		delete(places, pack)
		return nil
	})
	if err == nil && len(places) > 0 {
		return fmt.Errorf("%w: %d packs of events are missing", ErrCorrupt, len(places))
	}
	return err
}

// unpack fills in an event from its line and its pack's bodies.
func unpack(ev *deliver.Event, line, bodies []byte) error {
	from, length, err := unpackFields(ev, line)
	if err != nil {
		return err
	}
	if from < 0 || length < 0 || from > int64(len(bodies))-length {
		return fmt.Errorf("body of %d bytes at %d of %d", length, from, len(bodies))
	}
	ev.Body = bytes.Clone(bodies[from : from+length])
	return nil
}

// unpackFields fills in all but the body, and says where that is. The line begins
// with a bracket or ends with one or a comma.
func unpackFields(ev *deliver.Event, line []byte) (from, length int64, err error) {
	line = bytes.TrimRight(bytes.TrimLeft(line, "["), ",]")
	var committed int64
	var ago [5]*int64
	fields := []any{&from, &length, &committed, (*int64)(&ev.Latency), &ago[0], &ago[1], &ago[2], &ago[3], &ago[4],
		&ev.ID, &ev.Source.Owner, &ev.Seq, &ev.Source.Kind, &ev.Source.ID, &ev.Source.Name, &ev.TweetID, &ev.AuthorUsername, &ev.TextPreview, &ev.TweetURL}
	fixed := len(fields)
	if err := json.Unmarshal(slices.Concat([]byte("["), line, []byte("]")), &fields); err != nil {
		return 0, 0, err
	}
	if len(fields) < fixed {
		return 0, 0, fmt.Errorf("%d fields, want %d", len(fields), fixed)
	}
	ev.CommittedAt = timeOf(committed)
	for i, to := range [...]*time.Time{&ev.PublishedAt, &ev.EarliestAt, &ev.RequestedAt, &ev.FetchedAt, &ev.DetectedAt} {
		if ago[i] != nil {
			*to = timeOf(committed - *ago[i])
		}
	}
	for _, field := range fields[fixed:] {
		name, ok := field.(string)
		if !ok {
			return 0, 0, fmt.Errorf("handler %v, want a name", field)
		}
		ev.Handlers = append(ev.Handlers, name)
	}
	return from, length, nil
}
