package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// withEndpoints returns a store with the endpoints a and c of acme's source "one", b
// of its source "two", and theirs of globex's source, which has the id "one", too.
func withEndpoints(t *testing.T) *memory.Store {
	s, _ := open(t, memory.Options{})
	bind(t, s, source("acme", "one"), "a")
	bind(t, s, source("acme", "two"), "b")
	bind(t, s, source("globex", "one"), "theirs")
	bind(t, s, source("acme", "one"), "c")
	return s
}

func TestEndpointErrors(t *testing.T) {
	ctx := t.Context()
	endpoint := func(owner, sourceID, id, url string) deliver.Endpoint {
		return deliver.Endpoint{ID: id, Source: source(owner, sourceID), URL: "https://example.com/" + url}
	}
	for _, row := range []struct {
		name string
		call func(deliver.EndpointStore) error
		want error
	}{
		{"create a url its source has", func(es deliver.EndpointStore) error {
			return es.Create(ctx, endpoint("acme", "one", "new", "a"))
		}, deliver.ErrEndpointDuplicate},
		{"create an id in use", func(es deliver.EndpointStore) error {
			return es.Create(ctx, endpoint("acme", "one", "a", "new"))
		}, deliver.ErrEndpointDuplicate},
		{"create a url another source has", func(es deliver.EndpointStore) error {
			return es.Create(ctx, endpoint("acme", "two", "new", "a"))
		}, nil},
		{"create a url another owner's source has", func(es deliver.EndpointStore) error {
			return es.Create(ctx, endpoint("globex", "one", "new", "a"))
		}, nil},
		{"get unknown", func(es deliver.EndpointStore) error { _, err := es.Get(ctx, "acme", "x"); return err }, deliver.ErrEndpointNotFound},
		{"get another owner's", func(es deliver.EndpointStore) error { _, err := es.Get(ctx, "acme", "theirs"); return err }, deliver.ErrEndpointNotFound},
		{"update unknown", func(es deliver.EndpointStore) error {
			return es.Update(ctx, endpoint("acme", "one", "x", "x"))
		}, deliver.ErrEndpointNotFound},
		{"update another owner's", func(es deliver.EndpointStore) error {
			return es.Update(ctx, endpoint("acme", "one", "theirs", "x"))
		}, deliver.ErrEndpointNotFound},
		{"update to a url its source has", func(es deliver.EndpointStore) error {
			return es.Update(ctx, endpoint("acme", "one", "a", "c"))
		}, deliver.ErrEndpointDuplicate},
		{"delete unknown", func(es deliver.EndpointStore) error { return es.Delete(ctx, "acme", "x") }, deliver.ErrEndpointNotFound},
		{"delete another owner's", func(es deliver.EndpointStore) error { return es.Delete(ctx, "acme", "theirs") }, deliver.ErrEndpointNotFound},
		{"a deleted url is free again", func(es deliver.EndpointStore) error {
			must(t, es.Delete(ctx, "acme", "a"))
			return es.Create(ctx, endpoint("acme", "one", "a", "a"))
		}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			es := withEndpoints(t).Endpoints()
			wantErr(t, row.call(es), row.want)
			_, err := es.Get(ctx, "globex", "theirs")
			must(t, err)
		})
	}
}

func TestEndpointList(t *testing.T) {
	s := withEndpoints(t)
	for _, row := range []struct{ name, owner, sourceID, want string }{
		{"an owner's, oldest first", "acme", "", "a b c"},
		{"of one source only", "acme", "one", "a c"},
		{"of another owner's source with the same id", "globex", "one", "theirs"},
		{"of an unknown source", "acme", "x", ""},
		{"of an owner never seen", "initech", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			list, err := s.Endpoints().List(t.Context(), row.owner, row.sourceID)
			must(t, err)
			var ids []string
			for _, e := range list {
				ids = append(ids, e.ID)
			}
			want(t, "ids", strings.Join(ids, " "), row.want)
		})
	}
}

func TestEndpointUpdateLeavesSourceAndCreation(t *testing.T) {
	s := withEndpoints(t)
	later := start.Add(time.Hour)
	change := deliver.Endpoint{
		ID: "a", Source: deliver.Source{Owner: "acme", ID: "elsewhere", Name: "new"},
		URL: "https://example.com/new", Secret: "new", Status: deliver.EndpointDisabled, CreatedAt: later, UpdatedAt: later,
	}
	must(t, s.Endpoints().Update(t.Context(), change))
	wantErr(t, s.Endpoints().Update(t.Context(), change), deliver.ErrEndpointConflict)
	got, err := s.Endpoints().Get(t.Context(), "acme", "a")
	must(t, err)
	want(t, "url", got.URL, change.URL)
	want(t, "secret", string(got.Secret), string(change.Secret))
	want(t, "status", got.Status, change.Status)
	want(t, "updated", got.UpdatedAt, later)
	want(t, "source", got.Source, source("acme", "one"))
	want(t, "created", got.CreatedAt, start)
	want(t, "version", got.Version, 1)
}

func TestOnlyActiveEndpointsGetDeliveries(t *testing.T) {
	ctx := t.Context()
	src := source("acme", "one")
	set := func(status deliver.EndpointStatus) func(*testing.T, deliver.EndpointStore) {
		return func(t *testing.T, es deliver.EndpointStore) {
			e, err := es.Get(ctx, "acme", "a")
			must(t, err)
			e.Status = status
			must(t, es.Update(ctx, e))
		}
	}
	for _, row := range []struct {
		name  string
		steps []func(*testing.T, deliver.EndpointStore)
		want  string
	}{
		{"both active", nil, "a c"},
		{"one disabled", []func(*testing.T, deliver.EndpointStore){set(deliver.EndpointDisabled)}, "c"},
		{"enabled again", []func(*testing.T, deliver.EndpointStore){set(deliver.EndpointDisabled), set(deliver.EndpointActive)}, "a c"},
		{"one deleted", []func(*testing.T, deliver.EndpointStore){func(t *testing.T, es deliver.EndpointStore) {
			must(t, es.Delete(ctx, "acme", "a"))
		}}, "c"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := withEndpoints(t)
			for _, step := range row.steps {
				step(t, s.Endpoints())
			}
			b := commitAt(t, s, start, newEvent(src, "1"))
			want(t, "endpoints", endpointIDs(b.Deliveries), row.want)
		})
	}
}

func TestDeletingAnEndpointEndsItsOpenDeliveries(t *testing.T) {
	ctx := t.Context()
	s := withEndpoints(t)
	src := source("acme", "one")
	b := commitAt(t, s, start, newEvents(src, "1", "2", "3")...)
	settle := func(i int, n int, state deliver.State) {
		t.Helper()
		must(t, s.Outbox().Settle(ctx, deliver.Settlement{
			DeliveryID: b.Deliveries[i].ID, Attempt: &deliver.Attempt{N: n}, State: state, Due: start,
		}))
	}
	settle(0, 1, deliver.StateDelivered) // tweet 1 to a
	settle(2, 1, deliver.StateRetrying)  // tweet 2 to a
	must(t, s.Endpoints().Delete(ctx, "acme", "a"))
	settle(2, 2, deliver.StateDelivered) // it was under way

	for i, wanted := range []deliver.LogEntry{
		{Delivery: deliver.Delivery{State: deliver.StateDelivered, Attempts: 1}},
		{Delivery: deliver.Delivery{State: deliver.StatePending}},
		{Delivery: deliver.Delivery{State: deliver.StateDelivered, Attempts: 2}},
		{Delivery: deliver.Delivery{State: deliver.StatePending}},
		{Delivery: deliver.Delivery{State: deliver.StateFailed}},
		{Delivery: deliver.Delivery{State: deliver.StatePending}},
	} {
		got, err := s.Log().Delivery(ctx, "acme", b.Deliveries[i].ID)
		must(t, err)
		want(t, "state", got.State, wanted.State)
		want(t, "attempts", got.Attempts, wanted.Attempts)
	}
	claimed, err := s.Outbox().Claim(ctx, deliver.ClaimRequest{Now: start, Lease: time.Minute, Limit: 10})
	must(t, err)
	want(t, "claimable", endpointIDs(claimed), "c c c")
}

func endpointIDs(ds []deliver.Delivery) string {
	var ids []string
	for _, d := range ds {
		ids = append(ids, d.EndpointID)
	}
	return strings.Join(ids, " ")
}
