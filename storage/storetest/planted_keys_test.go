package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// brokenKeys changes what a store keeps of keys.
type brokenKeys struct {
	storage.Store
	edit func(*apikey.Key)
}

func (b brokenKeys) Keys() apikey.Store { return editedKeys{b.Store.(storage.Keyed).Keys(), b.edit} }

type editedKeys struct {
	apikey.Store
	edit func(*apikey.Key)
}

func (e editedKeys) Create(ctx context.Context, k apikey.Key) error {
	e.edit(&k)
	return e.Store.Create(ctx, k)
}

var plantedKeyFaults = []plantedFault{
	{"forgets the scope of a key", func(s storage.Store) storage.Store {
		return brokenKeys{s, func(k *apikey.Key) { k.Scope = "" }}
	}, "keys/a key comes back as it was created", "Get gave another key than Create was given"},
	{"forgets when a key expires", func(s storage.Store) storage.Store {
		return brokenKeys{s, func(k *apikey.Key) { k.ExpiresAt = k.RevokedAt }}
	}, "keys/a key comes back as it was created", "Get gave another key than Create was given"},
}

func TestPlantedKeyFaults(t *testing.T) {
	for _, row := range plantedKeyFaults {
		t.Run(row.name, func(t *testing.T) {
			on := func(plant func(storage.Store) storage.Store) []string {
				return record(t, Kit{Open: func(testing.TB) storage.Store { return plant(memory.New(memory.Options{})) }}, row.find)
			}
			if said := on(func(s storage.Store) storage.Store { return s }); len(said) > 0 {
				t.Errorf("%s reports %q of a sound store", row.find, said)
			}
			if said := on(row.plant); !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, row.says) }) {
				t.Errorf("%s reports %q, want a sentence with %q", row.find, said, row.says)
			}
		})
	}
}
