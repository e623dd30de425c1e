package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/deliver"
)

// endpoints implements deliver.EndpointStore.
type endpoints struct{ s *Store }

const endpointColumns = `id, owner, source_kind, source_id, source_name, url, secret, status, created_at, updated_at`

func endpointInto(e *deliver.Endpoint) []any {
	return []any{
		&e.ID, &e.Source.Owner, &e.Source.Kind, &e.Source.ID, &e.Source.Name, &e.URL, (*string)(&e.Secret), &e.Status,
		timeColumn{&e.CreatedAt}, timeColumn{&e.UpdatedAt},
	}
}

func (es endpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	return es.s.write(ctx, func(t *tx) error {
		n, err := t.change(`INSERT INTO endpoints (`+endpointColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			e.ID, e.Source.Owner, string(e.Source.Kind), e.Source.ID, e.Source.Name, e.URL, string(e.Secret), string(e.Status),
			optional(e.CreatedAt), optional(e.UpdatedAt))
		if err == nil && n == 0 {
			return deliver.ErrEndpointDuplicate
		}
		return err
	})
}

func (es endpoints) Get(ctx context.Context, owner, id string) (e deliver.Endpoint, err error) {
	err = es.s.read(ctx, func(r *snapshot) error {
		found, err := one(r, `SELECT `+endpointColumns+` FROM endpoints WHERE id = ? AND owner = ?`, []any{id, owner}, endpointInto(&e)...)
		if err == nil && !found {
			return deliver.ErrEndpointNotFound
		}
		return err
	})
	return e, err
}

func (es endpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	list := []deliver.Endpoint{}
	err := es.s.read(ctx, func(r *snapshot) error {
		return each(r, `SELECT `+endpointColumns+` FROM endpoints WHERE owner = ?1 AND ?2 IN ('', source_id) ORDER BY n`,
			[]any{owner, sourceID}, func(rows *sql.Rows) error {
				var e deliver.Endpoint
				if err := rows.Scan(endpointInto(&e)...); err != nil {
					return wrap(err)
				}
				list = append(list, e)
				return nil
			})
	})
	return list, err
}

// Update answers ErrEndpointDuplicate when another endpoint of the source has
// the new URL.
func (es endpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	return es.s.write(ctx, func(t *tx) error {
		found, err := t.exists(`SELECT 1 FROM endpoints WHERE id = ? AND owner = ?`, e.ID, e.Source.Owner)
		if err != nil {
			return err
		}
		if !found {
			return deliver.ErrEndpointNotFound
		}
		n, err := t.change(`UPDATE OR IGNORE endpoints SET url = ?, secret = ?, status = ?, updated_at = ? WHERE id = ?`,
			e.URL, string(e.Secret), string(e.Status), optional(e.UpdatedAt), e.ID)
		if err == nil && n == 0 {
			return deliver.ErrEndpointDuplicate
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
		// The events of which no other delivery is open are settled by this; an
		// event has at most one delivery to an endpoint.
		err = t.exec(`INSERT INTO settled (event, settled_at) SELECT d.event, ? FROM deliveries d
			WHERE d.endpoint_id = ? AND d.due_at IS NOT NULL AND NOT EXISTS (
				SELECT 1 FROM deliveries o WHERE o.event = d.event AND o.n <> d.n AND o.due_at IS NOT NULL)
			ORDER BY d.due_at, d.n`, nanos(es.s.opts.Now()), id)
		if err != nil {
			return err
		}
		return t.exec(`UPDATE deliveries SET state = 'failed', due_at = NULL WHERE endpoint_id = ? AND due_at IS NOT NULL`, id)
	})
}
