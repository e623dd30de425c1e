package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/streamwatch/streamwatch/apikey"
)

// keys implements apikey.Store. It stores records as the type records does.
type keys struct{ s *Store }

// Keys returns the store of API keys. It stores the keys' hashes, not their secrets.
func (s *Store) Keys() apikey.Store { return keys{s} }

func (ks keys) Create(ctx context.Context, k apikey.Key) error {
	doc, err := json.Marshal(k)
	if err != nil {
		return wrap(err)
	}
	return ks.s.write(ctx, func(t *tx) error {
		n, err := t.change(`INSERT INTO api_keys (id, owner, lookup, version, record) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			k.ID, k.Owner, k.Lookup(), k.Version, string(doc))
		if err == nil && n == 0 {
			err = apikey.ErrDuplicate
		}
		return err
	})
}

func (ks keys) Get(ctx context.Context, owner, id string) (k apikey.Key, err error) {
	err = ks.s.read(ctx, func(r *snapshot) error {
		k, err = keyWhere(r, `id = ? AND owner = ?`, id, owner)
		return err
	})
	return k, err
}

func (ks keys) Find(ctx context.Context, lookup string) (k apikey.Key, err error) {
	err = ks.s.read(ctx, func(r *snapshot) error {
		k, err = keyWhere(r, `lookup = ?`, lookup)
		return err
	})
	return k, err
}

func keyWhere(a querier, condition string, args ...any) (k apikey.Key, err error) {
	var version int64
	found, err := one(a, `SELECT record, version FROM api_keys WHERE `+condition, args, jsonColumn{&k}, &version)
	if err == nil && !found {
		err = apikey.ErrNotFound
	}
	k.Version = version
	return k, err
}

func (ks keys) List(ctx context.Context, owner string) ([]apikey.Key, error) {
	list := []apikey.Key{}
	err := ks.s.read(ctx, func(r *snapshot) error {
		return each(r, `SELECT record, version FROM api_keys WHERE owner = ? ORDER BY n`, []any{owner}, func(rows *sql.Rows) error {
			var k apikey.Key
			var version int64
			if err := rows.Scan(jsonColumn{&k}, &version); err != nil {
				return wrap(err)
			}
			k.Version = version
			list = append(list, k)
			return nil
		})
	})
	return list, err
}

func (ks keys) Update(ctx context.Context, k apikey.Key) error {
	return ks.s.write(ctx, func(t *tx) error {
		stored, err := keyWhere(t, `id = ? AND owner = ?`, k.ID, k.Owner)
		if err != nil {
			return err
		}
		if stored.Version != k.Version {
			return apikey.ErrConflict
		}
		changed := k
		changed.Hash = stored.Hash
		changed.Version++
		doc, err := json.Marshal(changed)
		if err != nil {
			return wrap(err)
		}
		return t.exec(`UPDATE api_keys SET version = ?, record = ? WHERE id = ?`, changed.Version, string(doc), k.ID)
	})
}

func (ks keys) Delete(ctx context.Context, owner, id string) error {
	return ks.s.write(ctx, func(t *tx) error {
		n, err := t.change(`DELETE FROM api_keys WHERE id = ? AND owner = ?`, id, owner)
		if err == nil && n == 0 {
			err = apikey.ErrNotFound
		}
		return err
	})
}
