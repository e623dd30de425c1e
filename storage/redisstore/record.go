package redisstore

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/record"
)

// recordStore implements record.Store.
type recordStore struct{ s *Store }

// keyText returns a key in the form of lua/records.lua, "" for the zero key.
func keyText(k record.Key) string {
	if k.IsZero() {
		return ""
	}
	return fieldText(string(k.Kind)) + k.ID
}

// group returns the name of a group of records in the form of lua/records.lua.
func group(owner string, kind record.Kind, parent record.Key, status string) string {
	return "g" + escaped(owner) + fieldText(string(kind)) + fieldText(keyText(parent)) + fieldText(status)
}

func fieldText(s string) string { return string(appendField(nil, s)) }

// key parses the text of a key.
func (d *decoder) key(text string) record.Key {
	if text == "" {
		return record.Key{}
	}
	kind, id, err := cutField(text)
	d.keep(err)
	return record.Key{Kind: record.Kind(kind), ID: id}
}

// decodeRecord decodes a record stored by lua/apply.lua.
func decodeRecord(key, stored, data string) (record.Record, error) {
	d := decoder{rest: stored}
	r := record.Record{Key: d.key(key), Owner: d.name(), Parent: d.key(d.field()), Name: d.field(), Lookup: d.field(), Status: d.field()}
	r.Size, r.Price, r.Version = d.decimal(), d.decimal(), d.decimal()
	d.field() // the number
	r.CreatedAt, r.UpdatedAt = d.stamp(d.field()), d.stamp(d.field())
	d.field() // the lane
	r.Note = d.field()
	if data != "" {
		r.Data = []byte(data)
	}
	return r, d.err
}

// decodeRecords decodes lists of the keys, texts and data of records. It omits missing records.
func decodeRecords(out []any) ([]record.Record, error) {
	keys, stored, data := list(out[0]), list(out[1]), list(out[2])
	recs := make([]record.Record, 0, len(keys))
	for i := range keys {
		if stored[i] == nil {
			continue
		}
		r, err := decodeRecord(text(keys[i]), text(stored[i]), text(data[i]))
		if err != nil {
			return nil, err
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func (rs recordStore) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	return rs.one(rs.s.run(ctx, "record_get", keyText(k), escaped(owner)))
}

func (rs recordStore) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	return rs.one(rs.s.run(ctx, "record_get", "l"+fieldText(string(k))+lookup, ""))
}

func (rs recordStore) one(out []any, err error) (record.Record, error) {
	if err != nil {
		return record.Record{}, err
	}
	if text(out[0]) == "unknown" {
		return record.Record{}, record.ErrNotFound
	}
	return decodeRecord(text(out[1]), text(out[2]), text(out[3]))
}

func (rs recordStore) List(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	if q.Name != "" {
		return rs.named(ctx, q)
	}
	// Lua counts exactly up to more than that.
	from, size := min(max(q.Offset, 0), math.MaxInt32), min(max(q.Limit, 0), math.MaxInt32)
	out, err := rs.s.run(ctx, "record_list", group(q.Owner, q.Kind, q.Parent, q.Status), from, size)
	if err != nil {
		return nil, 0, err
	}
	total, err := decimal(text(out[0]))
	if err != nil {
		return nil, 0, err
	}
	recs, err := decodeRecords(out[1:])
	return recs, int(total), err
}

// named is List for a query with a Name, which at most one record has.
func (rs recordStore) named(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	r, err := rs.one(rs.s.run(ctx, "record_get", "n"+escaped(q.Owner)+fieldText(string(q.Kind))+fieldText(keyText(q.Parent))+q.Name, ""))
	switch {
	case errors.Is(err, record.ErrNotFound), err == nil && q.Status != "" && q.Status != r.Status:
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case q.Offset > 0 || q.Limit <= 0:
		return nil, 1, nil
	}
	return []record.Record{r}, 1, nil
}

// scanChunk is the number of records that Scan reads at a time.
const scanChunk = 64

func (rs recordStore) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	for beyond := ""; ; {
		out, err := rs.s.run(ctx, "record_scan", "k"+fieldText(string(k)), beyond, scanChunk)
		if err != nil {
			return err
		}
		recs, err := decodeRecords(out[1:])
		if err != nil {
			return err
		}
		for i := range recs {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := fn(recs[i]); err != nil {
				return err
			}
		}
		if beyond = text(out[0]); beyond == "" {
			return nil
		}
	}
}

// Apply ends up to 1,000 open deliveries of deleted endpoints with the change, and the rest in
// steps. If ctx ends in between, the next Apply or Open goes on.
func (rs recordStore) Apply(ctx context.Context, c record.Change) (uint64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	out, err := rs.s.run(ctx, "apply", changeArgs(&c)...)
	if err != nil {
		return 0, err
	}
	if err := changeError(&c, out); err != nil {
		return 0, err
	}
	feed, err := decimal(text(out[1]))
	if err == nil && text(out[2]) != "" {
		_ = rs.s.endDeliveries(ctx) // the change is made, whatever becomes of the rest
	}
	return uint64(feed), err
}

// endDeliveries ends the open deliveries of deleted endpoints: see lua/closing.lua.
func (s *Store) endDeliveries(ctx context.Context) error {
	for {
		out, err := s.run(ctx, "deliveries_end")
		if err != nil || text(out[0]) == "" {
			return err
		}
	}
}

// changeArgs returns the arguments of lua/apply.lua: lists, each with its length first.
func changeArgs(c *record.Change) []any {
	w := make([]any, 0, 6+3*len(c.Delete)+14*len(c.Put)+3*len(c.Need)+4*len(c.Notes)+3+3*len(c.Limits))
	ref := func(k record.Key, owner string, version int64) {
		w = append(w, keyText(k), escaped(owner), strconv.FormatInt(version, 10))
	}
	w = append(w, len(c.Delete))
	for i := range c.Delete {
		ref(c.Delete[i].Key, c.Delete[i].Owner, c.Delete[i].Version)
	}
	w = append(w, len(c.Put))
	for i := range c.Put {
		r := &c.Put[i]
		lane := ""
		if r.Kind == record.Endpoint {
			lane = laneOf(r.ID)
		}
		ref(r.Key, r.Owner, r.Version)
		w = append(w, keyText(r.Parent), r.Name, r.Lookup, r.Status, strconv.FormatInt(r.Size, 10), strconv.FormatInt(r.Price, 10),
			stamp(r.CreatedAt), stamp(r.UpdatedAt), lane, r.Data, record.OwnerID(r.Owner))
	}
	w = append(w, len(c.Need))
	for i := range c.Need {
		ref(c.Need[i].Key, c.Need[i].Owner, c.Need[i].Version)
	}
	w = append(w, len(c.Notes))
	for i := range c.Notes {
		ref(c.Notes[i].Key, c.Notes[i].Owner, c.Notes[i].Version)
		w = append(w, c.Notes[i].Text)
	}
	if g := c.Gone; g != nil {
		id := record.OwnerID(g.Owner)
		w = append(w, 1, id, timeBound(g.Until), escaped("")+keyText(record.Key{Kind: record.Owner, ID: id}))
	} else {
		w = append(w, 0)
	}
	w = append(w, len(c.Limits))
	for i := range c.Limits {
		l := &c.Limits[i]
		var groups []byte
		for _, k := range l.Kinds {
			groups = appendField(groups, group(l.Owner, k, l.Parent, l.Status))
		}
		w = append(w, int(l.Of)+1, strconv.FormatInt(l.Max, 10), groups)
	}
	return w
}

// changeError returns the error for a reply of lua/apply.lua.
func changeError(c *record.Change, out []any) error {
	reason := text(out[0])
	switch reason {
	case "done":
		return nil
	case "limit":
		at, errA := decimal(text(out[1]))
		have, errH := decimal(text(out[2]))
		if err := errors.Join(errA, errH); err != nil {
			return err
		}
		return &record.LimitError{Limit: c.Limits[at], Have: have}
	}
	var d decoder
	k := d.key(text(out[1]))
	if d.err != nil {
		return d.err
	}
	return &record.Error{Key: k, Err: map[string]error{
		"unknown": record.ErrNotFound, "conflict": record.ErrConflict, "duplicate": record.ErrDuplicate, "gone": record.ErrGone,
	}[reason]}
}

func (rs recordStore) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	out, err := rs.s.run(ctx, "record_since", after, max(limit, 0))
	if err != nil {
		return nil, 0, err
	}
	last, err := decimal(text(out[1]))
	if err != nil {
		return nil, 0, err
	}
	if text(out[0]) == "old" {
		return nil, uint64(last), record.ErrTooOld
	}
	stored := list(out[2])
	entries := make([]record.Entry, len(stored))
	for i := range stored {
		owner, key, _ := strings.Cut(text(stored[i]), nameEnd)
		if owner, err = unescaped(owner + nameEnd); err != nil {
			return nil, 0, err
		}
		var d decoder
		if entries[i] = (record.Entry{N: after + 1 + uint64(i), Owner: owner, Key: d.key(key)}); d.err != nil {
			return nil, 0, d.err
		}
	}
	return entries, uint64(last), nil
}
