package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/record"
)

// writes collects the writes of a page, as arguments of lua/copy_write.lua.
type writes struct {
	n     uint64            // last number given
	lanes map[string]string // due and number of the first delivery added to a lane
	at    map[[2]string]int
	list  [][]any // command, key and arguments of each
	bytes int     // of values with a ttl
}

// add adds arguments of a command on a key.
func (w *writes) add(command, key string, args ...any) {
	place := [2]string{command, key}
	at, ok := w.at[place]
	if !ok {
		at = len(w.list)
		w.at[place] = at
		w.list = append(w.list, []any{command, key})
	}
	w.list[at] = append(w.list[at], args...)
}

func (w *writes) number() string {
	w.n++
	return hex(w.n)
}

// Write implements transfer.Store.
func (c *copying) Write(ctx context.Context, part transfer.Part, rows []any, next transfer.Place) error {
	w := &writes{n: c.n, lanes: map[string]string{}, at: map[[2]string]int{}}
	script, args := "copy_write", []any(nil)
	if part == transfer.Records {
		script = "copy_records"
		args = append(args, len(rows))
		for _, row := range rows {
			args = appendRecord(args, row.(*record.Record), w.number())
		}
	} else {
		for _, row := range rows {
			if err := w.row(part, row); err != nil {
				return err
			}
		}
		if w.bytes > 0 {
			w.add("HINCRBY", "count", "w", w.bytes)
		}
		args = append(args, len(w.lanes))
		for lane, first := range w.lanes {
			args = append(args, lane, first)
		}
		args = append(args, len(w.list))
		for _, list := range w.list {
			args = append(append(args, list[0], list[1], len(list)-2), list[2:]...)
		}
	}
	out, err := c.s.run(ctx, script, append([]any{int(c.at.Part), c.at.After, int(next.Part), next.After, w.n}, args...)...)
	switch {
	case err != nil:
		return err
	case text(out[0]) == "moved":
		return transfer.ErrMoved
	}
	c.n, c.at = w.n, next
	return nil
}

// appendRecord appends the values of a record in the order of record_fields, its key first and its data last.
func appendRecord(args []any, r *record.Record, number string) []any {
	lane := ""
	if r.Kind == record.Endpoint {
		lane = laneOf(r.ID)
	}
	return append(args, keyText(r.Key), escaped(r.Owner), keyText(r.Parent), r.Name, r.Lookup, r.Status, strconv.FormatInt(r.Size, 10),
		strconv.FormatInt(r.Price, 10), strconv.FormatInt(r.Version, 10), number, stamp(r.CreatedAt), stamp(r.UpdatedAt), lane, r.Note, r.Data)
}

// row adds the writes of a row.
func (w *writes) row(part transfer.Part, row any) error {
	switch row := row.(type) {
	case *record.Entry:
		w.add("RPUSH", "feed", escaped(row.Owner)+keyText(row.Key))
	case *transfer.Refused:
		w.add("HSET", "journal", "g"+row.OwnerID, stamp(row.Until))
		w.add("ZADD", "gonetimes", "0", stamp(row.Until)+row.OwnerID)
	case *transfer.Value:
		w.value(row)
	case *detect.Cursor:
		w.add("HSET", "journal", "c"+row.Target, []byte(appendCursor(nil, row)))
	case *transfer.Event:
		w.event(row)
	case *transfer.Final:
		w.add("RPUSH", "settled", stamp(row.At)+hex(row.Seq)+"01"+fieldText(escaped(row.Owner))+hex(0)[:8])
	case *deliver.Replay:
		next, doc, err := replayText(row)
		if err != nil {
			return err
		}
		w.add("HSET", "replays", row.EndpointID, doc)
		if row.State == deliver.ReplayRunning {
			w.add("ZADD", "replaysdue", "0", next+row.EndpointID)
		}
	case *transfer.Owner:
		owner := escaped(row.Owner)
		if row.Balance != (billing.Balance{}) {
			w.add("HSET", "balances", owner, fmt.Sprintf("%d %d", row.Available, row.Reserved))
		}
		if row.Last > 0 {
			w.add("HSET", "journal", "s"+owner, row.Last)
			w.add("LOWER", "firsts", owner, row.Last+1) // if the owner has no events
		}
	case *transfer.Entry:
		owner, number := escaped(row.Owner), w.number()
		text := appendField(appendField(nil, strconv.FormatInt(int64(row.Balance), 10)), strconv.FormatInt(int64(row.Amount), 10))
		w.add("HSET", "entries", row.ID, append(appendField(appendField(text, owner), row.SourceID), entryRest(&row.Entry)...))
		w.add("ZADD", "ledger", "0", owner+number+row.ID)
		w.add("RPUSH", "entryorder", stamp(row.Recorded)+fieldText(owner)+number+row.ID)
	case *transfer.Total:
		w.add("HSET", "totals", totalField(row.Source), int64(row.Total))
	case *billing.Reservation:
		expires := ""
		if !row.ExpiresAt.IsZero() {
			expires = stamp(row.ExpiresAt)
			w.add("ZADD", "expiring", "0", expires+row.ID)
		}
		w.add("HSET", "holds", row.ID, fieldText(escaped(row.Owner))+fieldText(strconv.FormatInt(int64(row.Amount), 10))+expires)
	case *transfer.Known:
		ids, order, value := "events", "forgottenorder", ""
		switch part {
		case transfer.RemovedEntries:
			ids, order = "entriesgone", "entriesgoneorder"
		case transfer.Resolved:
			ids, order, value = "resolved", "resolvedorder", map[string]string{transfer.Committed: committed, transfer.GivenBack: givenBack}[row.Outcome]
		}
		w.add("HSET", ids, row.ID, value)
		w.add("RPUSH", order, stamp(row.Recorded)+row.ID)
	case *transfer.Numbers:
		for name, n := range map[string]uint64{"r": row.FeedEnd, "v": row.Version, "e": row.Epoch, "d": row.DeliveryEpoch} {
			if n > 0 {
				w.add("HSET", "count", name, n)
			}
		}
		if row.Erased > 0 {
			w.add("HSET", "journal", "f", row.Erased)
		}
	}
	return nil
}

// value adds the writes of a value: see lua/values.lua.
func (w *writes) value(v *transfer.Value) {
	name, owner, version, ends := nameText(v.Name), escaped(v.Owner), hex(v.Version), ""
	if !v.Expires.IsZero() {
		ends = stamp(v.Expires)
		w.add("ZADD", "valueorder", "0", "v"+version+name, "0", "o"+owner+version+name, "0", "t"+ends+name)
		w.bytes += len(v.Data)
	}
	w.add("HSET", "values", name, fieldText(owner)+fieldText(version)+fieldText(ends)+string(v.Data))
}

// event adds the writes of an event and its deliveries.
func (w *writes) event(e *transfer.Event) {
	owner := escaped(e.Source.Owner)
	w.add("HSET", "events", e.ID, []byte(appendEvent(nil, &e.Event, e.CommittedAt)))
	w.add("LOWER", "firsts", owner, e.Seq)
	open := 0
	var ids []byte
	for i := range e.Deliveries {
		d := &e.Deliveries[i]
		ids = appendField(ids, d.ID)
		if !d.State.Final() {
			open++
		}
		w.delivery(e, owner, d)
	}
	run := ":" + e.ID // of one event, as its item in settled is
	switch len(e.Deliveries) {
	case 0:
	case 1:
		run = "=" + fieldText(e.ID) + e.Deliveries[0].ID
	default:
		w.add("HSET", "lives", e.ID, hex(uint64(open)<<32)+string(ids))
	}
	w.add("HSET", "journal", runField(owner, e.Seq), run)
}

// delivery adds the writes of a delivery: see lua/delivery.lua.
func (w *writes) delivery(e *transfer.Event, owner string, d *deliver.LogEntry) {
	number, lane, due := w.number(), laneOf(d.EndpointID), hex(0)
	switch {
	case !d.State.Final():
		due = stamp(d.Due)
		w.add("ZADD", "queue", "0", lane+due+number+d.ID)
		if first, ok := w.lanes[lane]; !ok || due+number < first {
			w.lanes[lane] = due + number
		}
	case d.EndpointDeleted:
		due = deletedDue
	}
	text := stateLetters[d.State] + due + hex(uint64(d.Attempts) | uint64(d.Uncounted)<<attemptBits)[8:] + number + hex(e.Seq)
	value := append([]byte(text), appendDelivery(&e.Event, owner, lane, e.CommittedAt)...)
	if d.Waited > 0 {
		value = strconv.AppendInt(value, d.Waited.Milliseconds(), 10)
	}
	w.add("HSET", "deliveries", d.ID, value)
	w.add("ZADD", "log", "0", owner+number+d.ID)
	var log []byte
	for i := range d.Log {
		log = appendField(append(log, hex(uint64(d.Log[i].N))...), appendAttempt(&d.Log[i]))
	}
	if log != nil {
		w.add("HSET", "attempts", d.ID, log)
	}
}
