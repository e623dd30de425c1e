package control

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
)

// Config configures a Manager. Kind, Records, Tracker and Webhooks are required.
type Config[R, P any] struct {
	Kind     Kind[R, P]
	Records  record.Store
	Tracker  Tracker[R, P]
	Webhooks Webhooks
	// Limits is called before a change is stored. It returns the limits of the change, or an error
	// if the change is not allowed. was is nil for a new record. endpoint says that the change
	// makes an endpoint. Defaults to none.
	Limits func(ctx context.Context, was *R, is R, endpoint bool) ([]Limit, error)
	// Price returns the price to store, in thousandths of a credit a day. Defaults to 0.
	Price func(R) int64
	// Applied waits until a stored change of a record is in effect in this process. Defaults to
	// Manager.Follow.
	Applied func(ctx context.Context, owner string, k record.Key) error
	Logger  *slog.Logger     // defaults to none
	Now     func() time.Time // defaults to time.Now
}

// Manager creates and changes the monitors or the rules. Its methods are safe for concurrent use.
type Manager[R, P any] struct {
	cfg      Config[R, P]
	kind     Kind[R, P]
	troubles troubles
	tracked  sync.Map // id → owner of the active records: those that the Tracker has or refused
	created  sync.Map // number of the entry in the feed → the R created with it
}

// New returns a manager. It starts nothing: see Run.
func New[R, P any](cfg Config[R, P]) *Manager[R, P] {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Limits == nil {
		cfg.Limits = func(context.Context, *R, R, bool) ([]Limit, error) { return nil, nil }
	}
	if cfg.Price == nil {
		cfg.Price = func(R) int64 { return 0 }
	}
	m := &Manager[R, P]{cfg: cfg, kind: cfg.Kind, troubles: newTroubles()}
	if cfg.Applied == nil {
		m.cfg.Applied = func(ctx context.Context, owner string, k record.Key) error {
			return m.Follow(ctx, record.Entry{Key: k, Owner: owner})
		}
	}
	return m
}

// Now returns the time of Config.Now, in UTC.
func (m *Manager[R, P]) Now() time.Time { return m.cfg.Now().UTC() }

// Get reads a record. It returns ErrConflict if the record does not have the given version. A
// version of 0 means any.
func (m *Manager[R, P]) Get(ctx context.Context, owner, id string, version int64) (R, error) {
	var none R
	stored, err := m.cfg.Records.Get(ctx, owner, m.key(id))
	if err != nil {
		return none, m.named(err, nil)
	}
	if version != 0 && version != stored.Version {
		return none, m.kind.ErrConflict
	}
	return m.kind.Decode(stored)
}

// List yields an owner's records, oldest first, and reads them by pages of 100. A status of ""
// selects all. A record that matches the whole time comes exactly once, even if the loop or others
// delete some. After an error, such as that of an ended context, nothing comes.
func (m *Manager[R, P]) List(ctx context.Context, owner string, status Status) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		const size = 100
		var none R
		seen := map[string]bool{}
		for offset := 0; ; {
			list, _, err := m.page(ctx, owner, status, offset, size)
			if err != nil {
				yield(none, err)
				return
			}
			if offset > 0 && (len(list) == 0 || !seen[*m.kind.Head(&list[0]).ID]) { // a deletion has moved the others
				offset = max(0, offset-size)
				continue
			}
			for i := range list {
				id := *m.kind.Head(&list[i]).ID
				if seen[id] {
					continue
				}
				seen[id] = true
				if err := ctx.Err(); err != nil {
					yield(none, err)
					return
				}
				if !yield(list[i], nil) {
					return
				}
			}
			if len(list) < size {
				return
			}
			offset += size - 1 // the last one again, to see whether the next page follows it
		}
	}
}

// Page returns a page of an owner's records, oldest first, and the number of all. A page or size
// of 0 is replaced by its default. A status of "" selects all records.
func (m *Manager[R, P]) Page(ctx context.Context, owner string, status Status, page, size *int) ([]R, int, error) {
	if *page == 0 {
		*page = 1
	}
	if *size == 0 {
		*size = 20
	}
	switch {
	case *page < 1:
		return nil, 0, m.refuse("page", fmt.Sprint(*page), "at least 1")
	case *size < 1 || *size > 100:
		return nil, 0, m.refuse("page_size", fmt.Sprint(*size), "1 to 100")
	}
	return m.page(ctx, owner, status, min(*page-1, 1<<24)**size, *size)
}

func (m *Manager[R, P]) page(ctx context.Context, owner string, status Status, offset, size int) ([]R, int, error) {
	if status != "" && status != Active && status != Paused {
		return nil, 0, m.refuse("status", string(status), `"active" or "paused"`)
	}
	stored, total, err := m.cfg.Records.List(ctx, record.Query{Owner: owner, Kind: m.kind.Kind, Status: string(status), Offset: offset, Limit: size})
	if err != nil {
		return nil, 0, err
	}
	list := make([]R, len(stored))
	for i := range stored {
		if list[i], err = m.kind.Decode(stored[i]); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

// Each calls fn for every record of every owner, in the order of creation, except for those that
// cannot be decoded, which it logs. If fn returns an error, Each stops and returns it.
func (m *Manager[R, P]) Each(ctx context.Context, fn func(R) error) error {
	var all []R // fn must not run inside the store
	err := m.cfg.Records.Scan(ctx, m.kind.Kind, func(stored record.Record) error {
		r, err := m.kind.Decode(stored)
		if err != nil {
			m.cfg.Logger.Error("cannot decode a stored record: it does not run", "kind", stored.Kind, "id", stored.ID, "error", err)
			return nil
		}
		all = append(all, r)
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a record and its endpoints. It returns ErrConflict if the record does not have
// the given version. A version of 0 means any.
func (m *Manager[R, P]) Delete(ctx context.Context, owner, id string, version int64) error {
	var none R
	if _, err := m.cfg.Limits(ctx, &none, none, false); err != nil {
		return err
	}
	c := record.Change{Delete: []record.Ref{{Key: m.key(id), Owner: owner, Version: version}}}
	if _, err := m.apply(ctx, c, nil); err != nil {
		return err
	}
	m.cfg.Logger.Info(string(m.kind.Kind)+" deleted", "id", id, "owner", owner)
	return m.applied(ctx, owner, id)
}

// apply makes a change and returns the number of its last entry in the feed, see Apply, or an error
// with the manager's names.
func (m *Manager[R, P]) apply(ctx context.Context, c record.Change, limits []Limit) (feed uint64, err error) {
	for _, l := range limits {
		c.Limits = append(c.Limits, l.Limit)
	}
	feed, err = Apply(ctx, m.cfg.Records, c)
	return feed, m.named(err, limits)
}

// named returns the manager's error for one of the store.
func (m *Manager[R, P]) named(err error, limits []Limit) error {
	var over *record.LimitError
	var of *record.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &over):
		return Exceeded(over, limits)
	case errors.As(err, &of) && of.Key.Kind == record.Endpoint && errors.Is(err, record.ErrDuplicate):
		return m.cfg.Webhooks.Error(err)
	case errors.As(err, &of) && of.Key.Kind == record.Endpoint, errors.Is(err, record.ErrConflict):
		return m.kind.ErrConflict // also if the endpoint alone was changed or deleted meanwhile
	case errors.Is(err, record.ErrNotFound):
		return m.kind.ErrNotFound
	case errors.Is(err, record.ErrDuplicate):
		return m.kind.ErrDuplicate
	}
	return err
}

// applied waits until a stored change is in effect in this process.
func (m *Manager[R, P]) applied(ctx context.Context, owner, id string) error {
	if err := m.cfg.Applied(ctx, owner, m.key(id)); err != nil {
		return fmt.Errorf("%s: the change is stored and not in effect yet: %w", m.kind.Kind, err)
	}
	return nil
}

func (m *Manager[R, P]) key(id string) record.Key { return record.Key{Kind: m.kind.Kind, ID: id} }

// refuse returns the *FieldError for a value that is not allowed.
func (m *Manager[R, P]) refuse(field, value, allowed string) error {
	return invalid.Field(string(m.kind.Kind), field, value, allowed)
}
