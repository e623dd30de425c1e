package apikey

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// lookupLen is the length of a record's Lookup, the beginning of the key's hash: 8 bytes, as
// hexadecimal digits.
const lookupLen = 16

// data has the fields of a key that are not of record.Record.
type data struct {
	Name          string // not the record's: it need not be unique
	Prefix        string
	Hash          string
	Tier          string    `json:",omitzero"`
	RatePerMinute int       `json:",omitzero"`
	Scope         Scope     `json:",omitzero"`
	ExpiresAt     time.Time `json:",omitzero"`
	RevokedAt     time.Time `json:",omitzero"`
}

// Record returns the form in which a key is stored.
func (k Key) Record() (record.Record, error) {
	b, err := json.Marshal(data{k.Name, k.Prefix, k.Hash, k.Tier, k.RatePerMinute, k.Scope, k.ExpiresAt, k.RevokedAt})
	if err != nil {
		return record.Record{}, fmt.Errorf("apikey: cannot encode %s: %w", k.ID, err)
	}
	return record.Record{Key: recordKey(k.ID), Owner: k.Owner, Lookup: k.Hash[:min(lookupLen, len(k.Hash))],
		Version: k.Version, CreatedAt: k.CreatedAt, Data: b, Note: useNote(k.LastUsedAt)}, nil
}

// FromRecord returns a stored key.
func FromRecord(r record.Record) (Key, error) {
	var d data
	if err := json.Unmarshal(r.Data, &d); err != nil {
		return Key{}, fmt.Errorf("apikey: cannot decode %s: %w", r.ID, err)
	}
	return Key{ID: r.ID, Owner: r.Owner, Name: d.Name, Prefix: d.Prefix, Hash: d.Hash, Tier: d.Tier, RatePerMinute: d.RatePerMinute,
		Scope: d.Scope, CreatedAt: r.CreatedAt, ExpiresAt: d.ExpiresAt, RevokedAt: d.RevokedAt, LastUsedAt: lastUse(r.Note), Version: r.Version}, nil
}

func recordKey(id string) record.Key { return record.Key{Kind: record.APIKey, ID: id} }
