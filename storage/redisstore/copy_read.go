package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/record"
)

// names are the sorted fields of hashes that have no order of their own. They are as many as owners,
// targets, sources, endpoints, values or reservations.
type names struct {
	part transfer.Part
	list []string
}

const scanCount = 2000 // fields that a step of a scan looks at

// Read implements transfer.Store.
func (c *copying) Read(ctx context.Context, from transfer.Place) (rows []any, next string, last bool, err error) {
	key, err := transfer.CutKey(from.After)
	if err != nil {
		return nil, "", false, err
	}
	key = append(key, "", "")
	switch from.Part {
	case transfer.Records:
		return c.sorted(ctx, "recordorder", "k", key[0], c.records)
	case transfer.Gone:
		return c.sorted(ctx, "gonetimes", "", key[0], func(_ context.Context, members []string) (rows []any, err error) {
			for _, m := range members {
				until, err := fromStamp(m[:stampLen])
				if err != nil {
					return nil, err
				}
				rows = append(rows, &transfer.Refused{OwnerID: m[stampLen:], Until: until})
			}
			return rows, nil
		})
	case transfer.Feed:
		return c.listed(ctx, "feed", key[0], c.feed)
	case transfer.Settled:
		return c.listed(ctx, "settled", key[0], c.settled)
	case transfer.Entries:
		return c.listed(ctx, "entryorder", key[0], c.entries)
	case transfer.RemovedEvents:
		return c.listed(ctx, "forgottenorder", key[0], c.known)
	case transfer.RemovedEntries:
		return c.listed(ctx, "entriesgoneorder", key[0], c.known)
	case transfer.Resolved:
		return c.listed(ctx, "resolvedorder", key[0], c.resolved)
	case transfer.Values:
		return c.named(ctx, from.Part, key[0], valueOf, "values")
	case transfer.Cursors:
		return c.named(ctx, from.Part, key[0], cursorOf, "journal c")
	case transfer.Replays:
		return c.named(ctx, from.Part, key[0], replayOf, "replays")
	case transfer.Owners:
		return c.named(ctx, from.Part, key[0], ownerOf, "journal s", "balances")
	case transfer.Totals:
		return c.named(ctx, from.Part, key[0], totalOf, "totals")
	case transfer.Reservations:
		return c.named(ctx, from.Part, key[0], holdOf, "holds")
	case transfer.Events:
		return c.events(ctx, key[0], key[1])
	}
	n := new(transfer.Numbers)
	counts, err := c.s.asks(ctx, "hmget", "count", "r", "v", "e", "d")
	if err != nil {
		return nil, "", false, err
	}
	erased, err := c.s.asks(ctx, "hmget", "journal", "f")
	for i, to := range []*uint64{&n.FeedEnd, &n.Version, &n.Epoch, &n.DeliveryEpoch, &n.Erased} {
		if text := text(append(counts, erased...)[i]); text != "" && err == nil {
			*to, err = strconv.ParseUint(text, 10, 64)
		}
	}
	return []any{n}, "", true, err
}

// sorted reads members of a sorted set with a prefix.
func (c *copying) sorted(ctx context.Context, key, prefix, after string, rowsOf func(context.Context, []string) ([]any, error)) (rows []any, next string, last bool, err error) {
	from, to := "["+prefix, "+"
	if prefix != "" {
		to = "(" + prefix[:len(prefix)-1] + string([]byte{prefix[len(prefix)-1] + 1})
	}
	if after != "" {
		from = "(" + after
	}
	found, err := c.s.asks(ctx, "zrangebylex", key, from, to, "LIMIT", 0, transfer.PageRows)
	if err != nil || len(found) == 0 {
		return nil, "", true, err
	}
	members := make([]string, len(found))
	for i := range found {
		members[i] = text(found[i])
	}
	rows, err = rowsOf(ctx, members)
	return rows, transfer.JoinKey(members[len(members)-1]), len(found) < transfer.PageRows, err
}

// listed reads items of a list from a position on.
func (c *copying) listed(ctx context.Context, key, after string, rowsOf func(ctx context.Context, items []string, from int) ([]any, error)) (rows []any, next string, last bool, err error) {
	from, _ := strconv.Atoi(after) // "" is the beginning
	found, err := c.s.asks(ctx, "lrange", key, from, from+transfer.PageRows-1)
	if err != nil || len(found) == 0 {
		return nil, "", true, err
	}
	items := make([]string, len(found))
	for i := range found {
		items[i] = text(found[i])
	}
	rows, err = rowsOf(ctx, items, from)
	return rows, transfer.JoinKey(from + len(found)), len(found) < transfer.PageRows, err
}

// load reads the names of hashes. A hash may have a letter before the names that count, which is left out.
func (c *copying) load(ctx context.Context, part transfer.Part, hashes []string) error {
	if c.part == part && c.names.list != nil {
		return nil
	}
	all := []string{}
	for _, hash := range hashes {
		key, letter, _ := strings.Cut(hash, " ")
		for at := "0"; ; {
			found, err := c.s.asks(ctx, "hscan", key, at, "MATCH", letter+"*", "COUNT", scanCount)
			if err != nil {
				return err
			}
			fields := list(found[1])
			for i := 0; i < len(fields); i += 2 {
				all = append(all, text(fields[i])[len(letter):])
			}
			if at = text(found[0]); at == "0" {
				break
			}
		}
	}
	slices.Sort(all) // a scan may return a field twice
	c.names = names{part, slices.Compact(all)}
	return nil
}

// named reads rows by the names of hashes. rowOf gets the values of a name in these, "" for none, and
// returns nil if that is no row.
func (c *copying) named(ctx context.Context, part transfer.Part, after string, rowOf func(name string, values []string) (any, error), hashes ...string) (rows []any, next string, last bool, err error) {
	if err := c.load(ctx, part, hashes); err != nil {
		return nil, "", false, err
	}
	at, found := slices.BinarySearch(c.names.list, after)
	if found {
		at++
	}
	some := c.names.list[at:min(at+transfer.PageRows, len(c.names.list))]
	if len(some) == 0 {
		return nil, "", true, nil
	}
	values := make([][]string, len(some))
	for _, hash := range hashes {
		key, letter, _ := strings.Cut(hash, " ")
		fields := make([]any, len(some))
		for i := range some {
			fields[i] = letter + some[i]
		}
		is, err := c.s.asks(ctx, "hmget", key, fields...)
		if err != nil {
			return nil, "", false, err
		}
		for i := range is {
			values[i] = append(values[i], text(is[i]))
		}
	}
	for i, name := range some {
		row, err := rowOf(name, values[i])
		if err != nil {
			return nil, "", false, err
		}
		if row != nil {
			rows = append(rows, row)
		}
	}
	return rows, transfer.JoinKey(some[len(some)-1]), at+len(some) == len(c.names.list), nil
}

// cutName cuts an escaped name off the beginning of a text.
func cutName(s string) (name, rest string, err error) {
	end := strings.Index(s, nameEnd)
	if end < 0 {
		return "", "", errFields
	}
	name, err = unescaped(s[:end+len(nameEnd)])
	return name, s[end+len(nameEnd):], err
}

func (c *copying) records(ctx context.Context, members []string) (rows []any, err error) {
	keys := make([]any, len(members))
	for i, m := range members {
		_, rest, err := cutField(m[1:]) // the kind
		if err != nil {
			return nil, err
		}
		keys[i] = rest[stampLen:]
	}
	stored, err := c.s.asks(ctx, "hmget", "records", keys...)
	if err != nil {
		return nil, err
	}
	data, err := c.s.asks(ctx, "hmget", "recorddata", keys...)
	if err != nil {
		return nil, err
	}
	recs, err := decodeRecords([]any{keys, stored, data})
	for i := range recs {
		rows = append(rows, &recs[i])
	}
	return rows, err
}

func (c *copying) feed(ctx context.Context, items []string, from int) (rows []any, err error) {
	end, err := c.s.asks(ctx, "hmget", "count", "r")
	if err != nil {
		return nil, err
	}
	length, err := c.s.ask(ctx, "llen", "feed")
	if err != nil {
		return nil, err
	}
	last, err := decimal(text(end[0]))
	for i, item := range items {
		owner, key, errN := cutName(item)
		var d decoder
		e := &record.Entry{N: uint64(last - length.(int64) + int64(from+i) + 1), Owner: owner, Key: d.key(key)}
		if err == nil {
			err = errN
		}
		if err == nil {
			err = d.err
		}
		rows = append(rows, e)
	}
	return rows, err
}

// known reads items of a time and an id.
func (c *copying) known(_ context.Context, items []string, _ int) (rows []any, err error) {
	for _, item := range items {
		at, err := fromStamp(item[:stampLen])
		if err != nil {
			return nil, err
		}
		rows = append(rows, &transfer.Known{ID: item[stampLen:], Recorded: at})
	}
	return rows, nil
}

func (c *copying) resolved(ctx context.Context, items []string, from int) ([]any, error) {
	rows, err := c.known(ctx, items, from)
	if err != nil {
		return nil, err
	}
	ids := make([]any, len(rows))
	for i, row := range rows {
		ids[i] = row.(*transfer.Known).ID
	}
	how, err := c.s.asks(ctx, "hmget", "resolved", ids...)
	for i := range how {
		rows[i].(*transfer.Known).Outcome = map[string]string{committed: transfer.Committed, givenBack: transfer.GivenBack}[text(how[i])]
	}
	return rows, err
}

func (c *copying) entries(ctx context.Context, items []string, _ int) (rows []any, err error) {
	ids := make([]any, len(items))
	for i, item := range items {
		_, rest, err := cutField(item[stampLen:])
		if err != nil {
			return nil, err
		}
		ids[i] = rest[stampLen:]
	}
	stored, err := c.s.asks(ctx, "hmget", "entries", ids...)
	for i := range stored {
		if stored[i] == nil || err != nil {
			continue // of an owner that was erased
		}
		e := new(transfer.Entry)
		if e.Entry, err = decodeEntry(text(ids[i]), text(stored[i])); err == nil {
			e.Recorded, err = fromStamp(items[i][:stampLen])
		}
		rows = append(rows, e)
	}
	return rows, err
}

func valueOf(name string, values []string) (any, error) {
	v, d := new(transfer.Value), decoder{rest: values[0]}
	var err error
	d.field() // the owner
	version, ends := d.field(), d.field()
	v.Data = []byte(d.rest)
	if v.Space, name, err = cutField(name); err == nil {
		v.Owner, v.ID, err = cutName(name)
	}
	d.keep(err)
	v.Version, err = fromHex(version)
	d.keep(err)
	if ends != "" {
		v.Expires = d.stamp(ends)
	}
	return v, d.err
}

func cursorOf(target string, values []string) (any, error) {
	c, err := decodeCursor(target, values[0])
	return &c, err
}

func replayOf(_ string, values []string) (any, error) {
	r, err := decodeReplay(values[0])
	return &r, err
}

func ownerOf(name string, values []string) (any, error) {
	o, d := new(transfer.Owner), decoder{}
	var err error
	o.Owner, err = unescaped(name)
	d.keep(err)
	amount := func(s string) int64 {
		if s == "" {
			return 0
		}
		n, err := decimal(s)
		d.keep(err)
		return n
	}
	available, reserved, _ := strings.Cut(values[1], " ")
	o.Last, o.Available, o.Reserved = uint64(amount(values[0])), billing.Credits(amount(available)), billing.Credits(amount(reserved))
	if *o == (transfer.Owner{Owner: o.Owner}) {
		return nil, d.err
	}
	return o, d.err
}

func totalOf(name string, values []string) (any, error) {
	t := new(transfer.Total)
	kind, rest, err := cutField(name)
	if err == nil {
		t.Kind = billing.Kind(kind)
		t.Owner, t.ID, err = cutName(rest)
	}
	if err != nil {
		return nil, err
	}
	n, err := decimal(values[0])
	t.Total = billing.Credits(n)
	return t, err
}

func holdOf(id string, values []string) (any, error) {
	d := decoder{rest: values[0]}
	r := &billing.Reservation{ID: id, Owner: d.name(), Amount: billing.Credits(d.decimal())}
	if d.rest != "" {
		r.ExpiresAt = d.stamp(d.rest)
	}
	return r, d.err
}

// settled leaves out the items that no longer count, and those of owners that were erased.
func (c *copying) settled(ctx context.Context, items []string, _ int) (rows []any, err error) {
	runs := make([]any, len(items))
	finals, turns, sizes := make([]transfer.Final, len(items)), make([]string, len(items)), make([]int, len(items))
	for i, item := range items {
		d := decoder{rest: item}
		finals[i].At = d.stamp(d.take(stampLen))
		finals[i].Seq, sizes[i] = d.digits(stampLen), int(d.digits(2))
		owner := d.field()
		turns[i], runs[i] = d.rest, runField(owner, finals[i].Seq)
		if finals[i].Owner, err = unescaped(owner); d.err != nil || err != nil {
			return nil, errFields
		}
	}
	stored, err := c.s.asks(ctx, "hmget", "journal", runs...)
	if err != nil {
		return nil, err
	}
	for i := range stored {
		ids, _, err := cutRun(text(stored[i]))
		if err != nil {
			return nil, err
		}
		ids = ids[:min(len(ids), sizes[i])]
		lives, err := c.s.asks(ctx, "hmget", "lives", anys(ids)...)
		if err != nil {
			return nil, err
		}
		for k := range ids {
			if life := text(lives[k]); life != "" && life[:stampLen] != hex(0)[:8]+turns[i] {
				continue
			}
			final := finals[i]
			final.Seq += uint64(k)
			rows = append(rows, &final)
		}
	}
	return rows, nil
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i := range texts {
		list[i] = texts[i]
	}
	return list
}

// runField and cutRun are run_field, and ids_of with only_delivery, of lua/runs.lua.
func runField(owner string, seq uint64) string { return "r" + owner + hex(seq) }

func cutRun(run string) (ids []string, delivery string, err error) {
	if strings.HasPrefix(run, "=") {
		id, rest, err := cutField(run[1:])
		return []string{id}, rest, err
	}
	length, rest, _ := strings.Cut(run, ":")
	if rest == "" {
		return nil, "", nil
	}
	size := len(rest)
	if length != "" {
		if size, err = strconv.Atoi(length); err != nil || size < 1 || len(rest)%size != 0 {
			return nil, "", errFields
		}
	}
	for ; rest != ""; rest = rest[size:] {
		ids = append(ids, rest[:size])
	}
	return ids, "", nil
}

// events reads events by owner and number.
func (c *copying) events(ctx context.Context, owner, after string) (rows []any, next string, last bool, err error) {
	if err := c.load(ctx, transfer.Events, []string{"journal s"}); err != nil {
		return nil, "", false, err
	}
	from := int64(1)
	if after != "" {
		if from, err = decimal(after); err != nil {
			return nil, "", false, err
		}
	}
	at, _ := slices.BinarySearch(c.names.list, owner)
	for bytes := 0; at < len(c.names.list) && len(rows) < transfer.PageRows && bytes < transfer.PageBytes; {
		owner = c.names.list[at]
		out, err := c.s.run(ctx, "log_events", owner, from, min(transfer.PageRows-len(rows), eventChunk))
		if err != nil {
			return nil, "", false, err
		}
		evs, err := eventsOf(list(out[1]))
		if err != nil {
			return nil, "", false, err
		}
		for i := range evs {
			rows = append(rows, &transfer.Event{Event: evs[i]})
			bytes += len(evs[i].Body)
		}
		if text(out[0]) == "" {
			at, from = at+1, 1
		} else if from, err = decimal(text(out[0])); err != nil {
			return nil, "", false, err
		}
	}
	if err := c.addDeliveries(ctx, rows); err != nil || at == len(c.names.list) {
		return rows, "", true, err
	}
	return rows, transfer.JoinKey(c.names.list[at], from), false, nil
}

// addDeliveries reads the deliveries of events.
func (c *copying) addDeliveries(ctx context.Context, rows []any) error {
	ids, runs := make([]any, len(rows)), make([]any, len(rows))
	for i, row := range rows {
		e := row.(*transfer.Event)
		ids[i], runs[i] = e.ID, runField(escaped(e.Source.Owner), e.Seq)
	}
	lives, err := c.s.asks(ctx, "hmget", "lives", ids...)
	if err != nil {
		return err
	}
	stored, err := c.s.asks(ctx, "hmget", "journal", runs...)
	if err != nil {
		return err
	}
	var all []any // ids of deliveries
	var of []*transfer.Event
	for i, row := range rows {
		_, only, err := cutRun(text(stored[i]))
		if err != nil {
			return err
		}
		found := splitFields(text(lives[i])[min(stampLen, len(text(lives[i]))):])
		if len(found) == 0 && only != "" {
			found = []string{only}
		}
		for _, id := range found {
			all, of = append(all, id), append(of, row.(*transfer.Event))
		}
	}
	for len(all) > 0 {
		n := min(len(all), entriesChunk)
		deliveries, err := c.s.asks(ctx, "hmget", "deliveries", all[:n]...)
		if err != nil {
			return err
		}
		attempts, err := c.s.asks(ctx, "hmget", "attempts", all[:n]...)
		if err != nil {
			return err
		}
		for i := range deliveries {
			if deliveries[i] == nil {
				return fmt.Errorf("redisstore: delivery %q of event %q is missing", all[i], of[i].ID)
			}
			d, err := decodeDelivery(text(all[i]), text(deliveries[i]), nil)
			if err != nil {
				return err
			}
			log, err := decodeAttempts(text(attempts[i]))
			if err != nil {
				return err
			}
			d.CreatedAt = of[i].CommittedAt
			of[i].Deliveries = append(of[i].Deliveries, deliver.LogEntry{Delivery: d, Log: log})
		}
		all, of = all[n:], of[n:]
	}
	return nil
}
