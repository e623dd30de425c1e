package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

var errNotSealed = errors.New("endpoints: secret cannot be encrypted")

// SealedStore is an EndpointStore that keeps endpoints in another one. It encrypts (seals) each
// secret and header value before it stores it, for this endpoint and field only. Get returns an
// error that wraps ErrSealed if a stored secret cannot be decrypted, is not encrypted, or was copied
// from another endpoint or field. Update and Delete do not decrypt stored secrets.
type SealedStore struct {
	store  deliver.EndpointStore
	sealer Sealer
}

// NewSealedStore returns a SealedStore that encrypts with sealer and keeps endpoints in store. If
// store already has endpoints that are not encrypted, call Reseal.
func NewSealedStore(store deliver.EndpointStore, sealer Sealer) (*SealedStore, error) {
	if store == nil || sealer == nil {
		return nil, errors.New("endpoints: SealedStore needs an EndpointStore and a Sealer")
	}
	return &SealedStore{store, sealer}, nil
}

// Create implements EndpointStore.
func (s *SealedStore) Create(ctx context.Context, e deliver.Endpoint) error {
	e, err := s.seal(ctx, e)
	if err != nil {
		return err
	}
	return s.store.Create(ctx, e)
}

// Get implements EndpointStore.
func (s *SealedStore) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := s.store.Get(ctx, owner, id)
	if err == nil {
		e, err = s.each(ctx, e, deliver.ErrSealed, s.open)
	}
	if err != nil {
		return deliver.Endpoint{}, err
	}
	return e, nil
}

// List implements EndpointStore. With an error that wraps ErrSealed it also returns the whole list.
// Endpoints that cannot be decrypted have no secrets in it.
func (s *SealedStore) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	list, err := s.store.List(ctx, owner, sourceID)
	if err != nil {
		return nil, err
	}
	var sealed error
	for i, e := range list {
		if list[i], err = s.each(ctx, e, deliver.ErrSealed, s.open); err != nil {
			if !errors.Is(err, deliver.ErrSealed) {
				return nil, err
			}
			sealed = errors.Join(sealed, err)
			list[i] = shown(e, false)
		}
	}
	return list, sealed
}

// Scan implements EndpointStore. If an endpoint cannot be decrypted, Scan passes it to fn without
// secrets. At the end it returns an error that wraps ErrSealed and names these endpoints.
func (s *SealedStore) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	var sealed error
	err := s.store.Scan(ctx, func(e deliver.Endpoint) error {
		opened, err := s.each(ctx, e, deliver.ErrSealed, s.open)
		if errors.Is(err, deliver.ErrSealed) {
			sealed = errors.Join(sealed, err)
			opened, err = shown(e, false), nil
		}
		if err != nil {
			return err
		}
		return fn(opened)
	})
	if err != nil {
		return err
	}
	return sealed
}

// Update implements EndpointStore.
func (s *SealedStore) Update(ctx context.Context, e deliver.Endpoint) error {
	e, err := s.seal(ctx, e)
	if err != nil {
		return err
	}
	return s.store.Update(ctx, e)
}

// Delete implements EndpointStore.
func (s *SealedStore) Delete(ctx context.Context, owner, id string) error {
	return s.store.Delete(ctx, owner, id)
}

// Reseal encrypts the secrets of an owner's endpoints with the newest key, including secrets that
// were not encrypted, and returns how many endpoints it has stored. Endpoints that cannot be
// decrypted do not change; the error names them.
func (s *SealedStore) Reseal(ctx context.Context, owner string) (int, error) {
	list, err := s.store.List(ctx, owner, "")
	if err != nil {
		return 0, err
	}
	n := 0
	var failed error
	for _, e := range list {
		err := s.reseal(ctx, e)
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

func (s *SealedStore) reseal(ctx context.Context, e deliver.Endpoint) error {
	for tries := 1; ; tries++ {
		opened, err := s.each(ctx, e, deliver.ErrSealed, s.openOrPlain)
		if err != nil {
			return err
		}
		err = s.Update(ctx, opened)
		if !errors.Is(err, deliver.ErrEndpointConflict) || tries == changeTries {
			return err
		}
		if e, err = s.store.Get(ctx, e.Source.Owner, e.ID); err != nil {
			return err
		}
	}
}

func (s *SealedStore) seal(ctx context.Context, e deliver.Endpoint) (deliver.Endpoint, error) {
	return s.each(ctx, e, errNotSealed, func(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
		sealed, err := s.sealer.Seal(ctx, []byte(v), place)
		return deliver.Secret(deliver.SealedPrefix + sealed), err
	})
}

func (s *SealedStore) open(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
	sealed, ok := strings.CutPrefix(string(v), deliver.SealedPrefix)
	if !ok {
		return "", errors.New("it is not sealed: see SealedStore.Reseal")
	}
	plain, err := s.sealer.Open(ctx, sealed, place)
	return deliver.Secret(plain), err
}

func (s *SealedStore) openOrPlain(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error) {
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
func (s *SealedStore) each(ctx context.Context, e deliver.Endpoint, failed error, change func(ctx context.Context, v deliver.Secret, place string) (deliver.Secret, error)) (deliver.Endpoint, error) {
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
