package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/streamwatch/streamwatch/apikey"
)

// keys implements apikey.Store with the scripts for records. A record's unique name is the key's
// Lookup without an owner, because Lookup is unique among all owners.
type keys struct{ s *Store }

// ofKeys is the kind of the records of API keys, a part of the names of Redis keys.
const ofKeys = "apikeys"

// Keys returns the store of API keys. It stores the keys' hashes, not their secrets.
func (s *Store) Keys() apikey.Store { return keys{s} }

func (ks keys) replyError(out []any, err error) error {
	if err != nil {
		return err
	}
	switch text(out[0]) {
	case "unknown":
		return apikey.ErrNotFound
	case "duplicate":
		return apikey.ErrDuplicate
	case "conflict":
		return apikey.ErrConflict
	}
	return nil
}

func (ks keys) Create(ctx context.Context, k apikey.Key) error {
	doc, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return ks.replyError(ks.s.run(ctx, "records_create", ofKeys,
		k.ID, escaped(k.Owner), k.Lookup(), "", strconv.FormatInt(k.Version, 10), doc, ofKeys[:1]))
}

func (ks keys) Get(ctx context.Context, owner, id string) (apikey.Key, error) {
	return ks.one(ks.s.run(ctx, "records_get", ofKeys, id, escaped(owner)))
}

func (ks keys) Find(ctx context.Context, lookup string) (apikey.Key, error) {
	return ks.one(ks.s.run(ctx, "records_find", ofKeys, lookup))
}

func (ks keys) one(out []any, err error) (apikey.Key, error) {
	if err := ks.replyError(out, err); err != nil {
		return apikey.Key{}, err
	}
	return decodeKey(out[1])
}

func decodeKey(doc any) (k apikey.Key, err error) {
	if err := json.Unmarshal([]byte(text(doc)), &k); err != nil {
		return apikey.Key{}, fmt.Errorf("redisstore: stored API key: %w", err)
	}
	return k, nil
}

// List returns up to 10,000 keys, a hundred times what a Manager allows.
func (ks keys) List(ctx context.Context, owner string) ([]apikey.Key, error) {
	out, err := ks.s.run(ctx, "records_list", ofKeys, escaped(owner), "", 0, maxPage)
	if err != nil {
		return nil, err
	}
	found := []apikey.Key{}
	for _, doc := range list(out[1]) {
		k, err := decodeKey(doc)
		if err != nil {
			return nil, err
		}
		found = append(found, k)
	}
	return found, nil
}

// Update reads the key's hash first and stores it again. The script refuses the update if the
// version has changed in between.
func (ks keys) Update(ctx context.Context, k apikey.Key) error {
	stored, err := ks.Get(ctx, k.Owner, k.ID)
	if err != nil {
		return err
	}
	if stored.Version != k.Version {
		return apikey.ErrConflict
	}
	was := k.Version
	k.Hash = stored.Hash
	k.Version++
	doc, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	return ks.replyError(ks.s.run(ctx, "records_update", ofKeys, k.ID, escaped(k.Owner), k.Lookup(), "",
		strconv.FormatInt(was, 10), strconv.FormatInt(k.Version, 10), doc, ofKeys[:1]))
}

func (ks keys) Delete(ctx context.Context, owner, id string) error {
	return ks.replyError(ks.s.run(ctx, "records_delete", ofKeys, id, escaped(owner), "", ofKeys[:1]))
}
