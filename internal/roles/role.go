package roles

import (
	"context"
	"errors"
	"math"

	"github.com/streamwatch/streamwatch/record"
)

// role has the methods that all views share.
type role[T any] struct {
	records record.Store
	kind    record.Kind
	encode  func(T) (record.Record, error)
	decode  func(record.Record) (T, error)

	notFound, duplicate, conflict error
}

// Create adds a record. Its Version is 1, whatever rec has.
func (r role[T]) Create(ctx context.Context, rec T) error {
	stored, err := r.encode(rec)
	if err != nil {
		return err
	}
	stored.Version = 0
	return r.apply(ctx, record.Change{Put: []record.Record{stored}})
}

func (r role[T]) Get(ctx context.Context, owner, id string) (T, error) {
	stored, err := r.records.Get(ctx, owner, record.Key{Kind: r.kind, ID: id})
	return r.one(stored, err)
}

func (r role[T]) Update(ctx context.Context, rec T) error {
	stored, err := r.encode(rec)
	if err != nil {
		return err
	}
	if stored.Version == 0 { // of no record; to Apply it means a new one
		if _, err := r.Get(ctx, stored.Owner, stored.ID); err != nil {
			return err
		}
		return r.conflict
	}
	return r.apply(ctx, record.Change{Put: []record.Record{stored}})
}

func (r role[T]) Delete(ctx context.Context, owner, id string) error {
	return r.apply(ctx, record.Change{Delete: []record.Ref{{Key: record.Key{Kind: r.kind, ID: id}, Owner: owner}}})
}

func (r role[T]) Scan(ctx context.Context, fn func(T) error) error {
	return r.records.Scan(ctx, r.kind, func(stored record.Record) error {
		rec, err := r.decode(stored)
		if err != nil {
			return err
		}
		return fn(rec)
	})
}

// page returns the page of a query, with pages from 1 and 20 records where page and size are 0.
func (r role[T]) page(ctx context.Context, owner, status string, page, size int) ([]T, int, error) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = 20
	}
	const most = math.MaxInt32 // keeps the product small, and is beyond the last page of any owner
	return r.list(ctx, record.Query{Owner: owner, Status: status, Offset: min(page-1, most/size) * size, Limit: size})
}

func (r role[T]) list(ctx context.Context, q record.Query) ([]T, int, error) {
	q.Kind = r.kind
	stored, total, err := r.records.List(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	list := make([]T, len(stored))
	for i := range stored {
		if list[i], err = r.decode(stored[i]); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

func (r role[T]) apply(ctx context.Context, c record.Change) error {
	_, err := r.records.Apply(ctx, c)
	return r.named(err)
}

func (r role[T]) one(stored record.Record, err error) (T, error) {
	var none T
	if err != nil {
		return none, r.named(err)
	}
	return r.decode(stored)
}

// named returns the port's name of an error.
func (r role[T]) named(err error) error {
	for is, name := range map[error]error{record.ErrNotFound: r.notFound, record.ErrConflict: r.conflict, record.ErrDuplicate: r.duplicate} {
		if errors.Is(err, is) {
			return name
		}
	}
	return err
}
