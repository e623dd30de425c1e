package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/streamwatch/streamwatch/billing"
)

// records is what monitors and rules have in common: records with a version,
// changed by compare-and-set. Its methods are those of both ports but List.
//
// A record is stored whole, as JSON with the names of its Go fields, so that a
// new field needs no new form of the data. What scripts ask for stands beside.
type records[T any] struct {
	s       *Store
	kind    string // in the keys
	keys    func(*T) (owner, id, unique, status string)
	version func(*T) *int64
	charged billing.Kind // the kind of their entries in the ledger

	notFound, duplicate, conflict error
}

// verdict is the error that a script's first word stands for.
func (rs records[T]) verdict(out []any, err error) error {
	if err != nil {
		return err
	}
	switch text(out[0]) {
	case "unknown":
		return rs.notFound
	case "duplicate":
		return rs.duplicate
	case "conflict":
		return rs.conflict
	}
	return nil
}

func (rs records[T]) Create(ctx context.Context, rec T) error {
	owner, id, unique, status := rs.keys(&rec)
	doc, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	owner = escaped(owner)
	return rs.verdict(rs.s.run(ctx, "records_create", rs.kind,
		id, owner, owner+unique, status, strconv.FormatInt(*rs.version(&rec), 10), doc))
}

func (rs records[T]) Get(ctx context.Context, owner, id string) (rec T, err error) {
	out, err := rs.s.run(ctx, "records_get", rs.kind, id, escaped(owner))
	if err := rs.verdict(out, err); err != nil {
		return rec, err
	}
	err = rs.decode(out[1], &rec)
	return rec, err
}

func (rs records[T]) Update(ctx context.Context, rec T) error {
	owner, id, unique, status := rs.keys(&rec)
	version := rs.version(&rec)
	was := *version
	*version++
	doc, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	owner = escaped(owner)
	return rs.verdict(rs.s.run(ctx, "records_update", rs.kind,
		id, owner, owner+unique, status, strconv.FormatInt(was, 10), strconv.FormatInt(*version, 10), doc))
}

func (rs records[T]) Delete(ctx context.Context, owner, id string) error {
	return rs.verdict(rs.s.run(ctx, "records_delete", rs.kind, id, escaped(owner), string(rs.charged)))
}

// scanChunk is how many records a question of Scan reads.
const scanChunk = 64

// Scan goes through the records by owner, oldest first, 64 at a time, and stops
// when the context ends. What is created or deleted meanwhile may be shown or
// not; what was there all the time is shown once.
func (rs records[T]) Scan(ctx context.Context, fn func(T) error) error {
	for beyond := ""; ; {
		out, err := rs.s.run(ctx, "records_scan", rs.kind, beyond, scanChunk)
		if err != nil {
			return err
		}
		for _, doc := range list(out[1]) {
			if err := ctx.Err(); err != nil {
				return err
			}
			var rec T
			if err := rs.decode(doc, &rec); err != nil {
				return err
			}
			if err := fn(rec); err != nil {
				return err
			}
		}
		if beyond = text(out[0]); beyond == "" {
			return nil
		}
	}
}

// list gives one page of the owner's records with a status, "" for all, and how
// many there are.
func (rs records[T]) list(ctx context.Context, owner, status string, page, size int) (recs []T, total int, err error) {
	from, count := pageBounds(page, size)
	out, err := rs.s.run(ctx, "records_list", rs.kind, escaped(owner), status, from, count)
	if err != nil {
		return nil, 0, err
	}
	n, err := decimal(text(out[0]))
	if err != nil {
		return nil, 0, err
	}
	recs = []T{}
	for _, doc := range list(out[1]) {
		var rec T
		if err := rs.decode(doc, &rec); err != nil {
			return nil, 0, err
		}
		recs = append(recs, rec)
	}
	return recs, int(n), nil
}

func (rs records[T]) decode(doc any, rec *T) error {
	if err := json.Unmarshal([]byte(text(doc)), rec); err != nil {
		return fmt.Errorf("redisstore: stored record of %s: %w", rs.kind, err)
	}
	return nil
}
