package redisstore

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// stateStore implements record.State.
type stateStore struct{ s *Store }

func nameText(n record.Name) string { return fieldText(n.Space) + escaped(n.Owner) + n.ID }

func (ss stateStore) Get(ctx context.Context, n record.Name) (record.Value, error) {
	out, err := ss.s.run(ctx, "state_get", nameText(n), stamp(ss.s.opts.Now()))
	if err != nil {
		return record.Value{}, err
	}
	if text(out[0]) == "unknown" {
		return record.Value{}, record.ErrNotFound
	}
	version, err := fromHex(text(out[1]))
	return record.Value{Data: []byte(text(out[2])), Version: version}, err
}

func (ss stateStore) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	if err := record.ValidateTTL(ttl); err != nil {
		return 0, err
	}
	ends := ""
	if ttl > 0 {
		ends = stamp(ss.s.opts.Now().Add(ttl))
	}
	kept := ""
	if len(value) > 0 {
		kept = "1"
	}
	out, err := ss.s.run(ctx, "state_swap", nameText(n), escaped(n.Owner), record.OwnerID(n.Owner), hex(version), ends, kept, value,
		record.MaxValuesOf, record.MaxValues, record.MaxValueBytes)
	if err != nil {
		return 0, err
	}
	switch text(out[0]) {
	case "gone":
		return 0, record.ErrGone
	case "conflict":
		return 0, record.ErrConflict
	}
	return fromHex(text(out[1]))
}
