package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// endpoints implements deliver.EndpointStore. It stores records as the type records does.
type endpoints struct{ s *Store }

func (es endpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	doc, err := deliver.EncodeEndpoint(e)
	if err != nil {
		return wrap(err)
	}
	return es.s.write(ctx, func(t *tx) error {
		n, err := t.change(`INSERT INTO endpoints (id, owner, source_id, url, status, version, record)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			e.ID, e.Source.Owner, e.Source.ID, e.URL, string(e.Status), e.Version, string(doc))
		if err == nil && n == 0 {
			err = deliver.ErrEndpointDuplicate
		}
		return err
	})
}

func (es endpoints) Get(ctx context.Context, owner, id string) (e deliver.Endpoint, err error) {
	err = es.s.read(ctx, func(r *snapshot) error {
		e, err = endpointOf(r, owner, id)
		return err
	})
	return e, err
}

func endpointOf(a querier, owner, id string) (e deliver.Endpoint, err error) {
	var version int64
	found, err := one(a, `SELECT record, version FROM endpoints WHERE id = ? AND owner = ?`, []any{id, owner}, endpointColumn{&e}, &version)
	if err == nil && !found {
		err = deliver.ErrEndpointNotFound
	}
	e.Version = version
	return e, err
}

func (es endpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	list := []deliver.Endpoint{}
	err := es.s.search(ctx, func(r *snapshot) error {
		return each(r, `SELECT record, version FROM endpoints WHERE owner = ?1 AND ?2 IN ('', source_id) ORDER BY n`,
			[]any{owner, sourceID}, func(rows *sql.Rows) error {
				var e deliver.Endpoint
				var version int64
				if err := rows.Scan(endpointColumn{&e}, &version); err != nil {
					return wrap(err)
				}
				e.Version = version
				list = append(list, e)
				return nil
			})
	})
	return list, err
}

func (es endpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	return es.s.write(ctx, func(t *tx) error {
		stored, err := endpointOf(t, e.Source.Owner, e.ID)
		if err != nil {
			return err
		}
		if stored.Version != e.Version {
			return deliver.ErrEndpointConflict
		}
		changed := e
		changed.Source, changed.CreatedAt, changed.Version = stored.Source, stored.CreatedAt, e.Version+1
		doc, err := deliver.EncodeEndpoint(changed)
		if err != nil {
			return wrap(err)
		}
		n, err := t.change(`UPDATE OR IGNORE endpoints SET url = ?, status = ?, version = ?, record = ? WHERE id = ?`,
			e.URL, string(e.Status), changed.Version, string(doc), e.ID)
		if err == nil && n == 0 {
			err = deliver.ErrEndpointDuplicate
		}
		return err
	})
}

func (es endpoints) Delete(ctx context.Context, owner, id string) error {
	return es.s.write(ctx, func(t *tx) error {
		n, err := t.change(`DELETE FROM endpoints WHERE id = ? AND owner = ?`, id, owner)
		if err != nil {
			return err
		}
		if n == 0 {
			return deliver.ErrEndpointNotFound
		}
		if err := t.exec(`DELETE FROM replays WHERE endpoint_id = ?`, id); err != nil {
			return err
		}
		// An event has at most one delivery to an endpoint.
		err = t.exec(`INSERT INTO settled (event, settled_at) SELECT ended.event, ?1 FROM deliveries ended
			WHERE ended.endpoint_id = ?2 AND ended.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM deliveries d
				WHERE `+ofEvent("d.n", "ended.event")+` AND d.due_at IS NOT NULL AND d.endpoint_id <> ?2)`, nanos(es.s.opts.Now()), id)
		if err != nil {
			return err
		}
		crashpoint.Hit("sqlite.endpoint.settled")
		return t.exec(`UPDATE deliveries SET state = 'failed', due_at = NULL, endpoint_deleted = 1
			WHERE endpoint_id = ? AND due_at IS NOT NULL`, id)
	})
}

// Scan calls fn for each endpoint, oldest first, until the context ends.
func (es endpoints) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	return scan(ctx, es.s, es.some, fn)
}

// some reads up to scanStep endpoints with numbers above after.
func (es endpoints) some(ctx context.Context, after int64) (list []deliver.Endpoint, last int64, err error) {
	err = es.s.show(ctx, es.s.searches, func(r *snapshot) error {
		return each(r, `SELECT n, record, version FROM endpoints WHERE n > ? ORDER BY n LIMIT ?`, []any{after, scanStep}, func(rows *sql.Rows) error {
			var e deliver.Endpoint
			var version int64
			err := rows.Scan(&last, endpointColumn{&e}, &version)
			e.Version = version
			list = append(list, e)
			return wrap(err)
		})
	})
	return list, last, err
}

// endpointColumn scans a stored record into an endpoint.
type endpointColumn struct{ to *deliver.Endpoint }

// Scan implements sql.Scanner.
func (c endpointColumn) Scan(v any) (err error) {
	doc, ok := v.(string)
	if !ok {
		return fmt.Errorf("sqlite: a document stored as %T: want text", v)
	}
	*c.to, err = deliver.DecodeEndpoint([]byte(doc))
	return err
}
