package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

var errNotSealed = errors.New("endpoints: secret cannot be encrypted")

// Store reads and writes the endpoints in a record.Store. With a Sealer it encrypts (seals) each
// secret and header value before it stores it, for this endpoint and field only. It is safe for
// concurrent use.
type Store struct {
	records record.Store
	sealer  Sealer
}

// NewStore returns a Store. sealer may be nil: secrets are then stored as they are. If the records
// have endpoints that are not encrypted and there is a sealer, call Reseal.
func NewStore(records record.Store, sealer Sealer) *Store { return &Store{records, sealer} }

// Get returns an endpoint. It returns an error that wraps ErrSealed, with the endpoint without its
// secrets, if a stored secret cannot be decrypted, is not encrypted, or was copied from another
// endpoint or field. Without a sealer it returns encrypted secrets as they are: see CheckOpen.
func (s *Store) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	r, err := s.records.Get(ctx, owner, record.Key{Kind: record.Endpoint, ID: id})
	if err != nil {
		return deliver.Endpoint{}, named(err)
	}
	return s.decode(ctx, r)
}

// List returns an owner's endpoints, in the order of their creation, those of one monitor or rule
// unless source is zero. With an error that wraps ErrSealed it also returns the whole list:
// endpoints that cannot be decrypted have no secrets in it.
func (s *Store) List(ctx context.Context, owner string, source record.Key) ([]deliver.Endpoint, error) {
	const all = 1 << 30
	stored, _, err := s.records.List(ctx, record.Query{Owner: owner, Kind: record.Endpoint, Parent: source, Limit: all})
	if err != nil {
		return nil, err
	}
	list := make([]deliver.Endpoint, len(stored))
	var sealed error
	for i := range stored {
		if list[i], err = s.decode(ctx, stored[i]); errors.Is(err, deliver.ErrSealed) {
			sealed = errors.Join(sealed, err)
		} else if err != nil {
			return nil, err
		}
	}
	return list, sealed
}

// Scan calls fn for every endpoint of every owner. If an endpoint cannot be decrypted, Scan passes
// it to fn without secrets. At the end it returns an error that wraps ErrSealed and names these
// endpoints. fn must not call the store.
func (s *Store) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	var sealed error
	err := s.records.Scan(ctx, record.Endpoint, func(r record.Record) error {
		e, err := s.decode(ctx, r)
		if errors.Is(err, deliver.ErrSealed) {
			sealed, err = errors.Join(sealed, err), nil
		}
		if err != nil {
			return err
		}
		return fn(e)
	})
	if err != nil {
		return err
	}
	return sealed
}

// Update replaces the stored endpoint of this Version. It returns ErrEndpointConflict for another,
// and for 0, which no stored endpoint has.
func (s *Store) Update(ctx context.Context, e deliver.Endpoint) error {
	if e.Version == 0 {
		return deliver.ErrEndpointConflict
	}
	r, err := s.encode(ctx, e)
	if err != nil {
		return err
	}
	_, err = control.Apply(ctx, s.records, record.Change{Put: []record.Record{r}})
	return named(err)
}

// SetFailing stores the FailingSince of this Version, which changes neither Version nor UpdatedAt.
// It returns ErrEndpointConflict for another Version.
func (s *Store) SetFailing(ctx context.Context, e deliver.Endpoint) error {
	note := e.FailingNote()
	_, err := s.records.Apply(ctx, record.Change{Need: []record.Ref{note.Ref}, Notes: []record.Note{note}})
	return named(err)
}

// named returns the error of this package for one of the store.
func named(err error) error {
	switch {
	case errors.Is(err, record.ErrNotFound):
		return deliver.ErrEndpointNotFound
	case errors.Is(err, record.ErrDuplicate):
		return deliver.ErrEndpointDuplicate
	case errors.Is(err, record.ErrConflict):
		return deliver.ErrEndpointConflict
	}
	return err
}

// encode returns the stored form of an endpoint, sealed.
func (s *Store) encode(ctx context.Context, e deliver.Endpoint) (record.Record, error) {
	if s.sealer != nil {
		var err error
		if e, err = s.each(ctx, e, errNotSealed, s.seal); err != nil {
			return record.Record{}, err
		}
	}
	return e.Record()
}

func (s *Store) decode(ctx context.Context, r record.Record) (deliver.Endpoint, error) {
	e, err := deliver.EndpointFromRecord(r)
	if err != nil {
		return shown(e, false), fmt.Errorf("%w: %w", deliver.ErrSealed, err)
	}
	if s.sealer == nil {
		return e, nil
	}
	opened, err := s.each(ctx, e, deliver.ErrSealed, s.open)
	if err != nil {
		return shown(e, false), err
	}
	return opened, nil
}

// Reseal encrypts the secrets of an owner's endpoints with the newest key, including secrets that
// were not encrypted, and returns how many endpoints it has stored. Endpoints that cannot be
// decrypted do not change; the error names them.
func (s *Store) Reseal(ctx context.Context, owner string) (int, error) {
	plain := NewStore(s.records, nil)
	list, err := plain.List(ctx, owner, record.Key{})
	if err != nil {
		return 0, err
	}
	n := 0
	var failed error
	for _, e := range list {
		err := s.reseal(ctx, plain, e)
		switch {
		case err == nil:
			n++
		case errors.Is(err, deliver.ErrSealed):
			failed = errors.Join(failed, err)
		case !errors.Is(err, deliver.ErrEndpointNotFound): // otherwise the endpoint was deleted since List
			return n, errors.Join(failed, err)
		}
	}
	return n, failed
}

func (s *Store) reseal(ctx context.Context, plain *Store, e deliver.Endpoint) error {
	for tries := 1; ; tries++ {
		opened, err := s.each(ctx, e, deliver.ErrSealed, s.openOrPlain)
		if err != nil {
			return err
		}
		err = s.Update(ctx, opened)
		if !errors.Is(err, deliver.ErrEndpointConflict) || tries == changeTries {
			return err
		}
		if e, err = plain.Get(ctx, e.Source.Owner, e.ID); err != nil {
			return err
		}
	}
}

func (s *Store) seal(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
	sealed, err := s.sealer.Seal(ctx, []byte(v), place)
	return deliver.Secret(deliver.SealedPrefix + sealed), err
}

func (s *Store) open(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
	sealed, ok := strings.CutPrefix(string(v), deliver.SealedPrefix)
	if !ok {
		return "", errors.New("it is not sealed: see Store.Reseal")
	}
	plain, err := s.sealer.Open(ctx, sealed, place)
	return deliver.Secret(plain), err
}

func (s *Store) openOrPlain(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
	if !strings.HasPrefix(string(v), deliver.SealedPrefix) {
		return v, nil
	}
	return s.open(ctx, v, place)
}

// guarded calls change, and returns an error if the Sealer panics. The error does not contain the
// panic's value, which may contain the secret.
func guarded(change func() (deliver.Secret, error)) (changed deliver.Secret, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the Sealer panicked")
		}
	}()
	return change()
}

// each returns a copy of e in which change has replaced every secret. The place passed to change is
// made of the endpoint's id and the field, so a stored value cannot be used for another field. An
// error wraps failed.
func (s *Store) each(ctx context.Context, e deliver.Endpoint, failed error, change func(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error)) (deliver.Endpoint, error) {
	e = e.Clone()
	one := func(v *deliver.Secret, field string) error {
		changed, err := guarded(func() (deliver.Secret, error) { return change(ctx, *v, e.ID+"\x00"+field) })
		switch {
		case err == nil:
			*v = changed
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		return fmt.Errorf("%w: %s of endpoint %q: %w", failed, field, e.ID, err)
	}
	if err := one(&e.Secret, "secret"); err != nil {
		return deliver.Endpoint{}, err
	}
	for i := range e.OldSecrets {
		if err := one(&e.OldSecrets[i].Secret, "old secret"); err != nil {
			return deliver.Endpoint{}, err
		}
	}
	for i := range e.Headers {
		if err := one(&e.Headers[i].Value, "header "+e.Headers[i].Name); err != nil {
			return deliver.Endpoint{}, err
		}
	}
	return e, nil
}
