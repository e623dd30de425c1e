package sqlstore

import (
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/record"
)

// table is how the rows of a part are read and written.
type table struct {
	columns, from string
	key           []string // columns that order the rows
	numbers       bool     // the key is of numbers
	fields        func() (row any, into []any)
	insert        string
	values        func(row any) []any
}

// tableOf returns a table of rows T. key has columns, with a comma between. into and values return the
// columns of a row.
func tableOf[T any](columns, from, key string, numbers bool, into func(*T) []any, insert string, values func(*T) []any) *table {
	return &table{columns, from, strings.Split(key, ","), numbers,
		func() (any, []any) { row := new(T); return row, into(row) },
		insert, func(row any) []any { return values(row.(*T)) }}
}

// read reads a page of rows.
func (c *table) read(q Querier, after []string) (page []any, next string, last bool, err error) {
	key, where, args := strings.Join(c.key, ", "), "", []any(nil)
	for i, text := range after {
		args = append(args, text)
		if c.numbers {
			if args[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, "", false, err
			}
		}
	}
	if len(after) > 0 {
		where = " WHERE (" + key + ") > (?" + strings.Repeat(", ?", len(after)-1) + ")"
	}
	numbers, texts := make([]int64, len(c.key)), make([]string, len(c.key))
	last, err = new(pager).each(q, `SELECT `+c.columns+`, `+key+` FROM `+c.from+where+` ORDER BY `+key+` LIMIT ?`, args, func(rows Rows) ([]any, error) {
		row, into := c.fields()
		width := len(into)
		for i := range c.key {
			if c.numbers {
				into = append(into, &numbers[i])
			} else {
				into = append(into, &texts[i])
			}
		}
		err := rows.Scan(into...)
		page = append(page, row)
		return into[:width], err
	})
	next = ""
	for i := range c.key {
		if c.numbers {
			next += transfer.JoinKey(numbers[i])
		} else {
			next += transfer.JoinKey(texts[i])
		}
	}
	return page, next, last, err
}

// orNull returns nil for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// known is a table of remembered ids.
func known(name, outcome, outcomeType string) *table {
	return tableOf(`id, recorded_at`+outcome, name, `n`, true, func(k *transfer.Known) []any {
		return []any{&k.ID, timeColumn{&k.Recorded}, &k.Outcome}[:2+len(outcomeType)/len(",text")]
	}, `{insert} `+name+` (id, recorded_at`+outcome+`) {rows text,int`+outcomeType+`}`, func(k *transfer.Known) []any {
		return []any{k.ID, nanos(k.Recorded), k.Outcome}[:2+len(outcomeType)/len(",text")]
	})
}

// copied has the tables of the parts that are rows of a table.
var copied = map[transfer.Part]*table{
	transfer.Records: tableOf(recordColumns, `records`, `n`, true, func(r *record.Record) []any { return recordFields(new(int64), r) },
		`{insert} records (kind, id, owner, parent_kind, parent, name, lookup, status, size, price, version, created_at, updated_at, note, data)
				{rows text,text,text,text,text,text,text,text,int,int,int,int,int,text,bytes}`, func(r *record.Record) []any {
			return []any{string(r.Kind), r.ID, r.Owner, string(r.Parent.Kind), r.Parent.ID, orNull(r.Name), orNull(r.Lookup), r.Status, r.Size, r.Price,
				r.Version, optional(r.CreatedAt), optional(r.UpdatedAt), r.Note, r.Data}
		}),
	transfer.Feed: tableOf(`kind, id, owner, n`, `feed`, `n`, true, func(e *record.Entry) []any { return []any{&e.Kind, &e.ID, &e.Owner, &e.N} },
		`{insert} feed (kind, id, owner, n) {rows text,text,text,int}`, func(e *record.Entry) []any { return []any{string(e.Kind), e.ID, e.Owner, int64(e.N)} }),
	transfer.Gone: tableOf(`owner_id, until`, `gone`, `owner_id`, false, func(r *transfer.Refused) []any { return []any{&r.OwnerID, timeColumn{&r.Until}} },
		`{insert} gone (owner_id, until) {rows text,int}`, func(r *transfer.Refused) []any { return []any{r.OwnerID, nanos(r.Until)} }),
	transfer.Values: tableOf(`space, owner, id, expires_at, data, version`, `state`, `version`, true, func(v *transfer.Value) []any {
		return []any{&v.Space, &v.Owner, &v.ID, timeColumn{&v.Expires}, &v.Data, &v.Version}
	}, `{insert} state (space, owner, id, expires_at, data, version) {rows text,text,text,int,bytes,int}`, func(v *transfer.Value) []any {
		return []any{v.Space, v.Owner, v.ID, optional(v.Expires), v.Data, int64(v.Version)}
	}),
	transfer.Cursors: tableOf(cursorColumns, `cursors`, `target`, false, cursorFields,
		`{insert} cursors (`+cursorColumns+`) {rows text,int,text,text,text}`, cursorValues),
	transfer.Settled: tableOf(`e.owner, e.seq, s.settled_at`, `settled s JOIN events e ON e.n = s.event`, `s.settled_at,s.event`, true, func(f *transfer.Final) []any {
		return []any{&f.Owner, &f.Seq, timeColumn{&f.At}}
	}, `WITH ended (owner, seq, at) AS ({rows text,int,int}) {insert} settled (event, settled_at)
			SELECT e.n, ended.at FROM ended {join} events e ON e.owner = ended.owner AND e.seq = ended.seq`, func(f *transfer.Final) []any {
		return []any{f.Owner, int64(f.Seq), nanos(f.At)}
	}),
	transfer.Replays: tableOf(`record`, `replays`, `endpoint_id`, false, func(r *deliver.Replay) []any { return []any{JSON{r}} },
		`{insert} replays (endpoint_id, owner, due_at, record) {rows text,text,int,text}`, replayValues),
	// They are read by readOwners.
	transfer.Owners: tableOf(``, ``, ``, false, func(o *transfer.Owner) []any { return nil },
		`{insert} owners (owner, available, reserved, removed_seq) {rows text,int,int,int}`, func(o *transfer.Owner) []any {
			return []any{o.Owner, int64(o.Available), int64(o.Reserved), int64(o.Last)}
		}),
	transfer.Entries: tableOf(entryColumns+`, recorded_at`, `ledger_entries`, `n`, true, func(e *transfer.Entry) []any {
		return append(entryFields(&e.Entry), timeColumn{&e.Recorded})
	}, insertEntries, func(e *transfer.Entry) []any { return appendEntry(nil, &e.Entry, e.Recorded) }),
	transfer.Totals: tableOf(`owner, kind, source_id, total`, `source_totals`, `owner,kind,source_id`, false, func(t *transfer.Total) []any {
		return []any{&t.Owner, &t.Kind, &t.ID, &t.Total}
	}, `{insert} source_totals (owner, kind, source_id, total) {rows text,text,text,int}`, func(t *transfer.Total) []any {
		return []any{t.Owner, string(t.Kind), t.ID, int64(t.Total)}
	}),
	transfer.Reservations: tableOf(`id, owner, amount, expires_at`, `reservations`, `id`, false, func(r *billing.Reservation) []any {
		return []any{&r.ID, &r.Owner, &r.Amount, timeColumn{&r.ExpiresAt}}
	}, `{insert} reservations (id, owner, amount, expires_at) {rows text,text,int,int}`, func(r *billing.Reservation) []any {
		return []any{r.ID, r.Owner, int64(r.Amount), optional(r.ExpiresAt)}
	}),
	transfer.RemovedEvents:  known(`removed_events`, ``, ``),
	transfer.RemovedEntries: known(`removed_entries`, ``, ``),
	transfer.Resolved:       known(`resolved_reservations`, `, outcome`, `,text`),
}
