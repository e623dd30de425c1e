package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

// replayedStore is a store with another Step or Get.
type replayedStore struct {
	storage.Store
	step func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error)
	get  func(ctx context.Context, s storage.Store, owner, endpointID string) (deliver.Replay, error)
}

func (r *replayedStore) Replays() deliver.Replays { return replayedRole{r.Store.Replays(), r} }

type replayedRole struct {
	deliver.Replays
	r *replayedStore
}

func (p replayedRole) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	if p.r.step == nil {
		return p.Replays.Step(ctx, q)
	}
	return p.r.step(ctx, p.r.Store, q)
}

func (p replayedRole) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	if p.r.get == nil {
		return p.Replays.Get(ctx, owner, endpointID)
	}
	return p.r.get(ctx, p.r.Store, owner, endpointID)
}

type stepFunc = func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error)

func plantStep(f stepFunc) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store { return &replayedStore{Store: s, step: f} }
}

// plantAfter returns a store in which f changes what the sound Step returned.
func plantAfter(f func(ctx context.Context, s storage.Store, r *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error)) func(storage.Store) storage.Store {
	return plantStep(func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
		r, ds, err := s.Replays().Step(ctx, q)
		if err == nil {
			ds, err = f(ctx, s, &r, ds)
		}
		return r, ds, err
	})
}

func TestPlantedReplayFaults(t *testing.T) {
	everything := deliver.LogQuery{Owner: "acme", Asc: true}
	findPlanted(t, []plantedFault{
		{"sends in another order", plantAfter(func(_ context.Context, _ storage.Store, _ *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error) {
			slices.Reverse(ds)
			return ds, nil
		}), "replays/Step makes the deliveries that are missing, in order", "in the order of the events"},
		{"is made however far the replay is", plantStep(func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			r, err := s.Replays().Get(ctx, q.Owner, q.EndpointID)
			if err == nil {
				q.Cursor, q.ID = r.Cursor, r.ID
			}
			return s.Replays().Step(ctx, q)
		}), "replays/a step is made once, whoever asks", "Step from one Cursor"},
		{"is several transactions", func(s storage.Store) storage.Store {
			looks := make(looks)
			return &replayedStore{Store: s,
				step: func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (r deliver.Replay, all []deliver.Delivery, err error) {
					for limit := q.Limit; limit > 0 && err == nil && r.State != deliver.ReplayDone; limit-- {
						var ds []deliver.Delivery
						q.Limit = 1
						r, ds, err = s.Replays().Step(ctx, q)
						all, q.Cursor = append(all, ds...), r.Cursor
						looks.wait(ctx, 3) // a look has two at the replay, with one at the deliveries between
					}
					return r, all, err
				},
				get: func(ctx context.Context, s storage.Store, owner, endpointID string) (deliver.Replay, error) {
					defer looks.taken()
					return s.Replays().Get(ctx, owner, endpointID)
				},
			}
		}, "replays/a step is seen whole", "seen in part"},
		{"sends again what was delivered", plantAfter(func(ctx context.Context, s storage.Store, r *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error) {
			p, err := s.Log().Deliveries(ctx, everything)
			for _, e := range p.Entries {
				_, again := s.Outbox().Reopen(ctx, deliver.ReopenRequest{Owner: "acme", IDs: []string{e.ID}, Due: r.Due})
				err = errors.Join(err, again)
			}
			return ds, err
		}), "replays/Step leaves out what is delivered or open, and sends anew what failed", "sent again what was delivered"},
		{"takes over what is open", plantAfter(func(ctx context.Context, s storage.Store, r *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error) {
			p, err := s.Log().Deliveries(ctx, everything)
			for _, e := range p.Entries {
				err = errors.Join(err, s.Outbox().Settle(ctx, deliver.Settlement{DeliveryID: e.ID, Due: r.Due}))
			}
			return ds, err
		}), "replays/Step leaves out what is delivered or open, and sends anew what failed", "Step moved when an open delivery is due"},
		{"leaves out what failed", plantAfter(func(_ context.Context, _ storage.Store, _ *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error) {
			return slices.DeleteFunc(ds, func(d deliver.Delivery) bool { return d.Attempts > 0 }), nil
		}), "replays/Step leaves out what is delivered or open, and sends anew what failed", "send what failed anew"},
		{"sends to an endpoint that is disabled", plantStep(func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			e, err := s.Endpoints().Get(ctx, q.Owner, q.EndpointID)
			if err == nil && e.Status != deliver.EndpointActive {
				e.Status = deliver.EndpointActive
				err = s.Endpoints().Update(ctx, e)
			}
			if err != nil {
				return deliver.Replay{}, nil, err
			}
			return s.Replays().Step(ctx, q)
		}), "replays/a replay of an endpoint that is disabled waits", "make nothing for an endpoint that is disabled"},
		{"outlives its endpoint", func(s storage.Store) storage.Store {
			var mu sync.Mutex
			var last deliver.Replay
			return &replayedStore{Store: s, step: func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
				r, ds, err := s.Replays().Step(ctx, q)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					last = r
				}
				return r, ds, err
			}, get: func(ctx context.Context, s storage.Store, owner, endpointID string) (deliver.Replay, error) {
				r, err := s.Replays().Get(ctx, owner, endpointID)
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, deliver.ErrReplayNotFound) && last.ID != "" {
					return last, nil
				}
				return r, err
			}}
		}, "replays/a replay goes with its endpoint", "Delete has to remove the endpoint's replay"},
		{"is silent about what retention removed", plantAfter(func(_ context.Context, _ storage.Store, r *deliver.Replay, ds []deliver.Delivery) ([]deliver.Delivery, error) {
			r.Removed = 0
			return ds, nil
		}), "replays/a replay says what retention removed", "Removed has to count"},
		{"loses one to another claimant", plantStep(func(ctx context.Context, s storage.Store, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
			r, ds, err := s.Replays().Step(ctx, q)
			if len(ds) > 0 {
				if _, failed := s.Outbox().Claim(ctx, deliver.ClaimRequest{Now: q.DeliverBy, Lease: lease, Limit: 1}); failed != nil {
					err = failed
				}
			}
			return r, ds, err
		}), "replays/work on a replay that is cut at any call goes on, and doubles nothing", "has to send each event once"},
	})
}
