package main

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// endpoints implements deliver.EndpointStore.
type endpoints struct{ recs records[endpoint] }

func (s *Store) endpointRecords() records[endpoint] {
	return records[endpoint]{
		s: s, in: func(st *state) *table[endpoint] { return &st.Endpoints },
		keys:     func(e *endpoint) keys { return keys{e.Source.Owner, e.ID, [2]string{e.Source.ID, e.URL}} },
		version:  func(e *endpoint) *int64 { return &e.Version },
		clone:    func(e endpoint) endpoint { return endpoint{e.Endpoint.Clone()} },
		notFound: deliver.ErrEndpointNotFound, duplicate: deliver.ErrEndpointDuplicate, conflict: deliver.ErrEndpointConflict,
	}
}

func (es endpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	return es.recs.Create(ctx, endpoint{e})
}

func (es endpoints) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := es.recs.Get(ctx, owner, id)
	return e.Endpoint, err
}

func (es endpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	all, err := es.recs.list(ctx, func(e *endpoint) bool {
		return e.Source.Owner == owner && (sourceID == "" || e.Source.ID == sourceID)
	})
	list := make([]deliver.Endpoint, len(all))
	for i, e := range all {
		list[i] = e.Endpoint
	}
	return list, err
}

func (es endpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	return es.recs.update(ctx, endpoint{e}, func(e *endpoint, old endpoint) {
		e.Source, e.CreatedAt = old.Source, old.CreatedAt
	})
}

// Scan shows what was there when it began.
func (es endpoints) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	return es.recs.Scan(ctx, func(e endpoint) error { return fn(e.Endpoint) })
}

// Delete also ends the endpoint's open deliveries and removes its replay.
func (es endpoints) Delete(ctx context.Context, owner, id string) error {
	return es.recs.remove(ctx, owner, id, func(draft *state, now time.Time) {
		draft.Replays.remove(id)
		for key, d := range draft.Deliveries.all() {
			if d.EndpointID == id && !d.State.Final() {
				draft.orphan(key, d, now)
			}
		}
	})
}
