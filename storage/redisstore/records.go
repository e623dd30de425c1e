package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/streamwatch/streamwatch/billing"
)

// records implements the methods that monitor.Store and rule.Store share, which are all but List. A
// record has a version, and an update compares it.
//
// A record is stored as JSON with the names of its Go fields. A new field therefore needs no new
// version of the data. The fields that scripts need are also stored separately.
type records[T any] struct {
	s       *Store
	kind    string // part of the names of Redis keys
	keys    func(*T) (owner, id, unique, status string)
	version func(*T) *int64
	charged billing.Kind // kind of the records' ledger entries

	notFound, duplicate, conflict error
}

// replyError returns the error for the first word of a reply.
func (rs records[T]) replyError(out []any, err error) error {
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
	return rs.replyError(rs.s.run(ctx, "records_create", rs.kind,
		id, owner, owner+unique, status, strconv.FormatInt(*rs.version(&rec), 10), doc, rs.kind[:1]))
}

func (rs records[T]) Get(ctx context.Context, owner, id string) (rec T, err error) {
	out, err := rs.s.run(ctx, "records_get", rs.kind, id, escaped(owner))
	if err := rs.replyError(out, err); err != nil {
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
	return rs.replyError(rs.s.run(ctx, "records_update", rs.kind,
		id, owner, owner+unique, status, strconv.FormatInt(was, 10), strconv.FormatInt(*version, 10), doc, rs.kind[:1]))
}

func (rs records[T]) Delete(ctx context.Context, owner, id string) error {
	return rs.replyError(rs.s.run(ctx, "records_delete", rs.kind, id, escaped(owner), string(rs.charged), rs.kind[:1]))
}

// scanChunk is the number of records that Scan reads at a time.
const scanChunk = 64

// Scan calls fn for the records by owner, each owner's oldest first. It reads 64 at a time, and
// stops when the context ends. A record that is created or deleted meanwhile may be included or
// not; every other record is included once.
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

// list returns a page of the owner's records with a status ("" for any), and the number of such
// records.
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
