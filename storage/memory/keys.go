package memory

import (
	"context"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/fleet"
)

// keys implements apikey.Store.
type keys struct{ s *Store }

// keyRecords has the API keys by id and by Key.Lookup.
type keyRecords struct {
	*table[apikey.Key]
	byLookup map[string]*row[apikey.Key]
}

func newKeyRecords() keyRecords {
	byID := func(k *apikey.Key) (owner, id, unique string) { return k.Owner, k.ID, k.Lookup() }
	return keyRecords{newTable(byID), make(map[string]*row[apikey.Key])}
}

// Keys returns the store of API keys. It stores the keys' hashes, not their secrets.
func (s *Store) Keys() apikey.Store { return keys{s} }

func (ks keys) Create(ctx context.Context, k apikey.Key) error {
	s := ks.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.keys.byLookup[k.Lookup()] != nil {
		return apikey.ErrDuplicate
	}
	r := s.keys.create(&k)
	if r == nil {
		return apikey.ErrDuplicate
	}
	s.keys.byLookup[k.Lookup()] = r
	s.feed.add(fleet.Key, k.Owner, k.ID)
	return nil
}

func (ks keys) Get(ctx context.Context, owner, id string) (apikey.Key, error) {
	return ks.read(ctx, func(t keyRecords) *row[apikey.Key] { return t.get(owner, id) })
}

func (ks keys) Find(ctx context.Context, lookup string) (apikey.Key, error) {
	return ks.read(ctx, func(t keyRecords) *row[apikey.Key] { return t.byLookup[lookup] })
}

func (ks keys) read(ctx context.Context, find func(keyRecords) *row[apikey.Key]) (apikey.Key, error) {
	if err := ks.s.lock(ctx); err != nil {
		return apikey.Key{}, err
	}
	defer ks.s.mu.Unlock()
	r := find(ks.s.keys)
	if r == nil {
		return apikey.Key{}, apikey.ErrNotFound
	}
	return *r.rec, nil
}

func (ks keys) List(ctx context.Context, owner string) ([]apikey.Key, error) {
	if err := ks.s.lock(ctx); err != nil {
		return nil, err
	}
	defer ks.s.mu.Unlock()
	rows := ks.s.keys.owners[owner]
	list := make([]apikey.Key, len(rows))
	for i, r := range rows {
		list[i] = *r.rec
	}
	return list, nil
}

func (ks keys) Update(ctx context.Context, k apikey.Key) error {
	s := ks.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.keys.get(k.Owner, k.ID)
	if r == nil {
		return apikey.ErrNotFound
	}
	if r.rec.Version != k.Version {
		return apikey.ErrConflict
	}
	k.Hash = r.rec.Hash
	k.Version++
	s.keys.replace(r, &k)
	s.feed.add(fleet.Key, k.Owner, k.ID)
	return nil
}

func (ks keys) Delete(ctx context.Context, owner, id string) error {
	s := ks.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.keys.get(owner, id)
	if r == nil {
		return apikey.ErrNotFound
	}
	s.keys.remove(r)
	delete(s.keys.byLookup, r.rec.Lookup())
	s.feed.add(fleet.Key, owner, id)
	return nil
}
