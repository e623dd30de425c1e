package redisstore

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/billing"
)

// ledger implements billing.Ledger. An owner's available and reserved credits are never
// negative, and their sum fits an int64.
type ledger struct{ s *Store }

// How a reservation is resolved.
const (
	committed = "c"
	givenBack = "g" // released or expired
)

// ledgerErrors has the errors for the first words of replies.
var ledgerErrors = map[string]error{
	"insufficient": billing.ErrInsufficient, "amount": billing.ErrAmount, "resolved": billing.ErrResolved, "unknown": billing.ErrNotFound,
}

// write runs a script that writes.
func (l ledger) write(ctx context.Context, script string, args ...any) error {
	out, err := l.s.run(ctx, script, args...)
	if err != nil {
		return err
	}
	return ledgerErrors[text(out[0])]
}

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	if err := r.Validate(); err != nil {
		return err
	}
	expires := ""
	if !r.ExpiresAt.IsZero() {
		expires = stamp(r.ExpiresAt)
	}
	return l.write(ctx, "ledger_reserve", r.ID, escaped(r.Owner), strconv.FormatInt(int64(r.Amount), 10), expires)
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	return l.write(ctx, "ledger_resolve", id, committed, countedKind(&e), e.SourceID, entryRest(&e))
}

func (l ledger) Release(ctx context.Context, id string) error {
	return l.write(ctx, "ledger_resolve", id, givenBack, "", "", "")
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	args := make([]any, 0, 1+6*len(entries))
	args = append(args, len(entries))
	for i := range entries {
		if err := entries[i].Validate(); err != nil {
			return err
		}
		args = append(args, entries[i].ID)
	}
	for i := range entries {
		args = appendPosting(args, &entries[i])
	}
	return l.write(ctx, "ledger_append", args...)
}

// Balance counts expired reservations as given back. The next write gives them back.
func (l ledger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	out, err := l.s.run(ctx, "ledger_balance", escaped(owner), stamp(l.s.opts.Now()))
	if err != nil {
		return billing.Balance{}, err
	}
	available, reserved, _ := strings.Cut(text(out[0]), " ")
	a, errA := decimal(available)
	r, errR := decimal(reserved)
	err = errors.Join(errA, errR)
	for _, held := range list(out[1]) {
		n, errN := decimal(text(held))
		err = errors.Join(err, errN)
		a += n
		r -= n
	}
	if err != nil {
		return billing.Balance{}, err
	}
	return billing.Balance{Available: billing.Credits(a), Reserved: billing.Credits(r)}, nil
}

// entryChunk is the maximum number of entries that a script looks at or returns.
const entryChunk = 1000

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	if !isNumber(q.Cursor) {
		return billing.EntryPage{}, billing.ErrCursor
	}
	rows := pageQuery{list: "ledger", owner: q.Owner, asc: q.Asc, cursor: q.Cursor, page: q.Page, size: q.PageSize, chunk: entryChunk}
	if q.SourceID != "" || !q.Since.IsZero() || !q.Until.IsZero() {
		rows.conditions = []any{q.SourceID, timeBound(q.Since), timeBound(q.Until)}
	}
	ids, total, next, err := l.s.rows(ctx, rows)
	if err != nil {
		return billing.EntryPage{}, err
	}
	page := billing.EntryPage{Entries: make([]billing.Entry, 0, len(ids)), Total: total, Next: next}
	for chunk := range slices.Chunk(ids, entryChunk) {
		records, err := l.s.fields(ctx, "entries", append([]any{len(chunk)}, chunk...)...)
		if err != nil {
			return billing.EntryPage{}, err
		}
		for i, stored := range records {
			if text(stored) == "" { // removed in the meantime
				continue
			}
			e, err := decodeEntry(text(chunk[i]), text(stored))
			if err != nil {
				return billing.EntryPage{}, err
			}
			page.Entries = append(page.Entries, e)
		}
	}
	return page, nil
}

// entryRest encodes the fields of an entry that scripts do not use.
func entryRest(e *billing.Entry) []byte {
	enc := newEncoder(64)
	enc.text(string(e.Kind))
	enc.instant(e.At)
	enc.text(e.SourceName)
	enc.text(e.Endpoint)
	enc.number(int64(e.NumAccounts))
	enc.text(e.TierLabel)
	enc.number(int64(e.Rate))
	return enc
}

// decodeEntry decodes an entry stored by lua/account.lua.
func decodeEntry(id, stored string) (billing.Entry, error) {
	d := decoder{rest: stored}
	e := billing.Entry{ID: id, Balance: billing.Credits(d.decimal()), Amount: billing.Credits(d.decimal()), Owner: d.name(), SourceID: d.field()}
	d.form()
	e.Kind, e.At, e.SourceName, e.Endpoint = billing.Kind(d.text()), d.instant(), d.text(), d.text()
	e.NumAccounts, e.TierLabel, e.Rate = int(d.number()), d.text(), billing.Credits(d.number())
	return e, d.err
}

// appendPosting appends the arguments with which lua/account.lua posts an entry, except its id.
func appendPosting(w []any, e *billing.Entry) []any {
	return append(w, escaped(e.Owner), strconv.FormatInt(int64(e.Amount), 10), countedKind(e), e.SourceID, entryRest(e))
}

// countedKind returns the kind of the total that includes an entry, or "" if none does.
func countedKind(e *billing.Entry) string {
	src, ok := e.Source()
	if !ok {
		return ""
	}
	return string(src.Kind)
}

// totalField returns the name of a source's total in Redis: see total_field in lua/account.lua.
func totalField(src billing.Source) []byte {
	return append(append(appendField(nil, string(src.Kind)), escaped(src.Owner)...), src.ID...)
}

// Totals reads all totals with one script.
func (l ledger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	args := append(make([]any, 0, 1+len(sources)), len(sources))
	for _, src := range sources {
		args = append(args, totalField(src))
	}
	records, err := l.s.fields(ctx, "totals", args...)
	if err != nil {
		return nil, err
	}
	totals := make([]billing.Credits, len(sources))
	for i, stored := range records {
		if text(stored) == "" {
			continue
		}
		n, err := decimal(text(stored))
		if err != nil {
			return nil, err
		}
		totals[i] = billing.Credits(n)
	}
	return totals, nil
}
