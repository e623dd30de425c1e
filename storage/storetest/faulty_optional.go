package storetest

import (
	"context"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// roleCalls are the methods of storage.Keyed and storage.Eraser that a FaultPlan may name.
var roleCalls = []string{"Keys.Create", "Keys.Get", "Keys.Find", "Keys.List", "Keys.Update", "Keys.Delete", "Eraser.Erase"}

// withRoles returns f with those optional roles that the store below it has.
func (f *faultyStore) withRoles(below storage.Store) storage.Store {
	shared, isShared := below.(storage.Sharing)
	keyed, isKeyed := below.(storage.Keyed)
	eraser, isEraser := below.(storage.Eraser)
	s, k, e := faultyFleet{faultyKeyed{f, keyed}, shared}, faultyKeyed{f, keyed}, faultyEraser{f, eraser}
	switch {
	case isShared && isEraser:
		return struct {
			*faultyStore
			faultyFleet
			faultyEraser
		}{f, s, e}
	case isShared:
		return struct {
			*faultyStore
			faultyFleet
		}{f, s}
	case isKeyed && isEraser:
		return struct {
			*faultyStore
			faultyKeyed
			faultyEraser
		}{f, k, e}
	case isKeyed:
		return struct {
			*faultyStore
			faultyKeyed
		}{f, k}
	case isEraser:
		return struct {
			*faultyStore
			faultyEraser
		}{f, e}
	}
	return f
}

// faultyKeyed has the roles of a storage.Keyed.
type faultyKeyed struct {
	of   *faultyStore
	real storage.Keyed
}

func (k faultyKeyed) Keys() apikey.Store     { return faultyKeys{k.of, k.real.Keys()} }
func (k faultyKeyed) Answers() fleet.Answers { return faultyAnswers{k.of, k.real.Answers()} }

type faultyKeys struct {
	f    *faultyStore
	real apikey.Store
}

func (s faultyKeys) Create(ctx context.Context, k apikey.Key) error {
	return s.f.call(ctx, "Keys.Create", func() error { return s.real.Create(ctx, k) })
}

func (s faultyKeys) Get(ctx context.Context, owner, id string) (apikey.Key, error) {
	return answer(ctx, s.f, "Keys.Get", func() (apikey.Key, error) { return s.real.Get(ctx, owner, id) })
}

func (s faultyKeys) Find(ctx context.Context, lookup string) (apikey.Key, error) {
	return answer(ctx, s.f, "Keys.Find", func() (apikey.Key, error) { return s.real.Find(ctx, lookup) })
}

func (s faultyKeys) List(ctx context.Context, owner string) ([]apikey.Key, error) {
	return answer(ctx, s.f, "Keys.List", func() ([]apikey.Key, error) { return s.real.List(ctx, owner) })
}

func (s faultyKeys) Update(ctx context.Context, k apikey.Key) error {
	return s.f.call(ctx, "Keys.Update", func() error { return s.real.Update(ctx, k) })
}

func (s faultyKeys) Delete(ctx context.Context, owner, id string) error {
	return s.f.call(ctx, "Keys.Delete", func() error { return s.real.Delete(ctx, owner, id) })
}

// faultyEraser has the methods of a storage.Eraser.
type faultyEraser struct {
	of   *faultyStore
	real storage.Eraser
}

func (e faultyEraser) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	return answer(ctx, e.of, "Eraser.Erase", func() (storage.Erased, error) { return e.real.Erase(ctx, owner, targets...) })
}
