package memory

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// endpoints implements deliver.EndpointStore.
type endpoints struct{ s *Store }

// sourceKey identifies the monitor or rule that endpoints are bound to.
type sourceKey struct{ owner, id string }

func endpointKeys(e *deliver.Endpoint) (owner, id, unique string) {
	return e.Source.Owner, e.ID, strconv.Itoa(len(e.Source.ID)) + ":" + e.Source.ID + e.URL
}

func (es endpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	e = e.Clone()
	r := s.endpoints.create(&e)
	if r == nil {
		return deliver.ErrEndpointDuplicate
	}
	source := sourceKey{e.Source.Owner, e.Source.ID}
	s.bound[source] = append(s.bound[source], r)
	s.feed.add(fleet.Endpoint, e.Source.Owner, e.ID)
	return nil
}

func (es endpoints) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return deliver.Endpoint{}, err
	}
	defer s.mu.Unlock()
	r := s.endpoints.get(owner, id)
	if r == nil {
		return deliver.Endpoint{}, deliver.ErrEndpointNotFound
	}
	return r.rec.Clone(), nil
}

func (es endpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rows := s.endpoints.owners[owner]
	if sourceID != "" {
		rows = s.bound[sourceKey{owner, sourceID}]
	}
	list := make([]deliver.Endpoint, 0, len(rows))
	for _, r := range rows {
		list = append(list, r.rec.Clone())
	}
	return list, nil
}

func (es endpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.endpoints.get(e.Source.Owner, e.ID)
	if r == nil {
		return deliver.ErrEndpointNotFound
	}
	if r.rec.Version != e.Version {
		return deliver.ErrEndpointConflict
	}
	changed := e.Clone()
	changed.Source, changed.CreatedAt, changed.Version = r.rec.Source, r.rec.CreatedAt, e.Version+1
	if !s.endpoints.replace(r, &changed) {
		return deliver.ErrEndpointDuplicate
	}
	s.feed.add(fleet.Endpoint, changed.Source.Owner, changed.ID)
	return nil
}

func (es endpoints) Delete(ctx context.Context, owner, id string) error {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.endpoints.get(owner, id)
	if r == nil {
		return deliver.ErrEndpointNotFound
	}
	s.endpoints.remove(r)
	delete(s.replays, id)
	s.feed.add(fleet.Endpoint, owner, id)

	source := sourceKey{owner, r.rec.Source.ID}
	rows := slices.DeleteFunc(s.bound[source], func(b *row[deliver.Endpoint]) bool { return b == r })
	if len(rows) == 0 {
		delete(s.bound, source)
	} else {
		s.bound[source] = rows
	}

	now := s.opts.Now()
	for _, d := range s.events.open.takeLane(id) {
		d.orphaned = true
		s.events.end(d, deliver.StateFailed, now)
	}
	s.events.retain(now, 0)
	return nil
}

// Scan calls fn for each endpoint that exists when Scan begins, oldest first.
func (es endpoints) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	s := es.s
	if err := s.lock(ctx); err != nil {
		return err
	}
	rows := make([]row[deliver.Endpoint], 0, len(s.endpoints.byID))
	for _, r := range s.endpoints.byID {
		rows = append(rows, *r)
	}
	s.mu.Unlock()

	slices.SortFunc(rows, func(a, b row[deliver.Endpoint]) int { return cmp.Compare(a.n, b.n) })
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(r.rec.Clone()); err != nil {
			return err
		}
	}
	return nil
}
