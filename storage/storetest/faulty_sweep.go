package storetest

import (
	"context"

	"github.com/streamwatch/streamwatch/storage"
)

type faultySweeper struct {
	f    *faultyStore
	real storage.Sweeper
}

func (s faultySweeper) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	return answer(ctx, s.f, "Sweeper.Sweep", func() (storage.Erased, error) { return s.real.Sweep(ctx, owner, targets...) })
}
