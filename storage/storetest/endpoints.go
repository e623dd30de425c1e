package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// withEndpoints binds the endpoints a and c to acme's source "one", and b to its source "two". It
// binds the endpoint theirs to a source of globex, whose id is also "one".
func withEndpoints(t *storeTest) deliver.EndpointStore {
	t.bind(storeSource("acme", "one"), "a")
	t.bind(storeSource("acme", "two"), "b")
	t.bind(storeSource("globex", "one"), "theirs")
	t.bind(storeSource("acme", "one"), "c")
	return t.store.Endpoints()
}

func endpointCases() []storeCase {
	on := func(name string, run func(*storeTest, deliver.EndpointStore)) storeCase {
		return storeCase{name: name, run: func(t *storeTest) { run(t, withEndpoints(t)) }}
	}
	cases := slices.Concat(endpointErrorCases(), endpointFieldCases(), endpointVersionCases(), endpointMemoryCases(), endpointDeliveryCases())
	return append(cases,
		on("an endpoint comes back as it was created", func(t *storeTest, es deliver.EndpointStore) {
			e := fullEndpoint(t)
			t.ok(es.Create(t.Context(), e), "Endpoints.Create")
			got, err := es.Get(t.Context(), "acme", e.ID)
			t.ok(err, "Endpoints.Get")
			t.same(got, e, "Get gave another endpoint than Create was given")
			list, err := es.List(t.Context(), "acme", "r1")
			t.ok(err, "Endpoints.List")
			t.same(list, []deliver.Endpoint{e}, "List gave another endpoint than Create was given")
		}),
		on("Update leaves Source and CreatedAt", func(t *storeTest, es deliver.EndpointStore) {
			change := fullEndpoint(t)
			change.ID, change.Source.ID, change.Version = "a", "elsewhere", 0
			t.ok(es.Update(t.Context(), change), "Endpoints.Update")
			change.Source, change.CreatedAt, change.Version = storeSource("acme", "one"), t.start, 1
			got, err := es.Get(t.Context(), "acme", "a")
			t.ok(err, "Endpoints.Get")
			t.same(got, change, "Update has to replace all but Source and CreatedAt, which do not change")
			list, err := es.List(t.Context(), "acme", "elsewhere")
			t.ok(err, "Endpoints.List")
			expect(t, len(list), 0, "Update has moved an endpoint to another source")
		}),
		on("List shows an owner's endpoints, the oldest first", func(t *storeTest, es deliver.EndpointStore) {
			for _, row := range []struct{ what, owner, sourceID, want string }{
				{"all of an owner", "acme", "", "a b c"},
				{"those of one source", "acme", "one", "a c"},
				{"another owner's source of the same id", "globex", "one", "theirs"},
				{"none of an unknown source", "acme", "x", ""},
				{"none of an owner never seen", "initech", "", ""},
			} {
				list, err := es.List(t.Context(), row.owner, row.sourceID)
				t.ok(err, "Endpoints.List")
				expect(t, joined(list, func(e deliver.Endpoint) string { return e.ID }), row.want, "List has to show %s", row.what)
			}
		}),
		on("Scan shows every endpoint of every owner once", func(t *storeTest, es deliver.EndpointStore) {
			full := fullEndpoint(t)
			t.ok(es.Create(t.Context(), full), "Endpoints.Create")
			for i := range 300 {
				t.bind(storeSource("acme", fmt.Sprint("many", i)), fmt.Sprint("many", i))
			}
			t.ok(es.Delete(t.Context(), "acme", "b"), "Endpoints.Delete")
			seen := map[string]int{}
			t.ok(es.Scan(t.Context(), func(e deliver.Endpoint) error {
				if seen[e.ID]++; e.ID == full.ID {
					t.same(e, full, "Scan gave another endpoint than Create was given")
				}
				return nil
			}), "Endpoints.Scan")
			for _, id := range []string{"a", "c", "theirs", full.ID, "many0", "many299"} {
				expect(t, seen[id], 1, "Scan has to show each endpoint once, here %s", id)
			}
			expect(t, len(seen), 304, "Scan has to show all endpoints and no others")
		}),
		on("Scan ends with the error of its function, and with its context", func(t *storeTest, es deliver.EndpointStore) {
			stop, calls := errors.New("enough"), 0
			t.refused(es.Scan(t.Context(), func(deliver.Endpoint) error { calls++; return stop }), stop, "Scan has to return fn's error")
			expect(t, calls, 1, "Scan went on after fn's error")
			ctx, cancel := context.WithCancel(t.Context())
			calls = 0
			t.refused(es.Scan(ctx, func(deliver.Endpoint) error { calls++; cancel(); return nil }), context.Canceled, "Scan has to end with its context")
			expect(t, calls, 1, "Scan went on after its context had ended")
		}),
		on("a URL is free again after Update and Delete", func(t *storeTest, es deliver.EndpointStore) {
			moved := t.endpoint(storeSource("acme", "one"), "a")
			moved.URL = "https://example.com/moved"
			t.ok(es.Update(t.Context(), moved), "Endpoints.Update")
			next := t.endpoint(storeSource("acme", "one"), "next")
			next.URL = "https://example.com/a"
			t.ok(es.Create(t.Context(), next), "Endpoints.Create with a URL that an Update gave up")
			t.ok(es.Delete(t.Context(), "acme", "a"), "Endpoints.Delete")
			t.ok(es.Create(t.Context(), moved), "Endpoints.Create with the URL and the id of a deleted endpoint")
		}),
		on("a source and a URL do not run into each other", func(t *storeTest, es deliver.EndpointStore) {
			for i, sep := range []string{":", " ", "\x00", "\x00\x00", "\x00\x01", `"`, "|", "1:"} {
				one := t.endpoint(storeSource("acme", "a"+sep+"b"), fmt.Sprint(i, " one"))
				one.URL = "c"
				two := t.endpoint(storeSource("acme", "a"), fmt.Sprint(i, " two"))
				two.URL = "b" + sep + "c"
				t.ok(es.Create(t.Context(), one), fmt.Sprintf("Endpoints.Create of %q for %q", one.URL, one.Source.ID))
				t.ok(es.Create(t.Context(), two), fmt.Sprintf("Endpoints.Create of %q for %q", two.URL, two.Source.ID))
			}
		}),
		on("of concurrent creations with one URL one succeeds", func(t *storeTest, es deliver.EndpointStore) {
			oneOf(t, deliver.ErrEndpointDuplicate, "Endpoints.Create with one URL", func(i int) error {
				e := t.endpoint(acme, "racer "+string(rune('a'+i)))
				e.URL = "https://example.com/race"
				return es.Create(t.Context(), e)
			})
		}),
	)
}

// endpointErrorCases test calls that the role refuses.
func endpointErrorCases() []storeCase {
	type call = func(t *storeTest, es deliver.EndpointStore) error
	create := func(owner, sourceID, id, path string) call {
		return func(t *storeTest, es deliver.EndpointStore) error {
			e := t.endpoint(storeSource(owner, sourceID), id)
			e.URL = "https://example.com/" + path
			return es.Create(t.Context(), e)
		}
	}
	update := func(owner, id, path string) call {
		return func(t *storeTest, es deliver.EndpointStore) error {
			e := t.endpoint(storeSource(owner, "one"), id)
			e.URL = "https://example.com/" + path
			return es.Update(t.Context(), e)
		}
	}
	get := func(owner, id string) call {
		return func(t *storeTest, es deliver.EndpointStore) error {
			_, err := es.Get(t.Context(), owner, id)
			return err
		}
	}
	remove := func(owner, id string) call {
		return func(t *storeTest, es deliver.EndpointStore) error { return es.Delete(t.Context(), owner, id) }
	}
	var cases []storeCase
	for _, row := range []struct {
		name string
		call call
		want error
	}{
		{"Create refuses a URL that its source has", create("acme", "one", "new", "a"), deliver.ErrEndpointDuplicate},
		{"Create refuses an id in use", create("acme", "one", "a", "new"), deliver.ErrEndpointDuplicate},
		{"Create allows a URL that another source has", create("acme", "two", "new", "a"), nil},
		{"Create allows a URL that another owner's source has", create("globex", "one", "new", "a"), nil},
		{"Get does not find an unknown id", get("acme", "x"), deliver.ErrEndpointNotFound},
		{"Get does not find another owner's id", get("acme", "theirs"), deliver.ErrEndpointNotFound},
		{"Update does not find an unknown id", update("acme", "x", "x"), deliver.ErrEndpointNotFound},
		{"Update does not find another owner's id", update("acme", "theirs", "x"), deliver.ErrEndpointNotFound},
		{"Update refuses a URL that its source has", update("acme", "a", "c"), deliver.ErrEndpointDuplicate},
		{"Update of an unknown id is not found, though its URL is taken", update("acme", "x", "c"), deliver.ErrEndpointNotFound},
		{"Update of another version is a conflict, though its URL is taken", func(t *storeTest, es deliver.EndpointStore) error {
			e := t.endpoint(storeSource("acme", "one"), "a")
			e.URL, e.Version = "https://example.com/c", e.Version+7
			return es.Update(t.Context(), e)
		}, deliver.ErrEndpointConflict},
		{"Delete does not find an unknown id", remove("acme", "x"), deliver.ErrEndpointNotFound},
		{"Delete does not find another owner's id", remove("acme", "theirs"), deliver.ErrEndpointNotFound},
	} {
		cases = append(cases, storeCase{name: row.name, run: func(t *storeTest) {
			es := withEndpoints(t)
			t.refused(row.call(t, es), row.want, "%s", row.name)
			for owner, id := range map[string]string{"acme": "a", "globex": "theirs"} {
				e, err := es.Get(t.Context(), owner, id)
				t.ok(err, "Endpoints.Get")
				src := storeSource(owner, "one")
				t.same(e, t.endpoint(src, id), "a call that was refused changed an endpoint of %s", owner)
			}
		}})
	}
	return cases
}

// endpointDeliveryCases test how endpoints affect deliveries.
func endpointDeliveryCases() []storeCase {
	one := storeSource("acme", "one")
	set := func(t *storeTest, id string, status deliver.EndpointStatus) {
		e, err := t.store.Endpoints().Get(t.Context(), "acme", id)
		t.ok(err, "Endpoints.Get")
		e.Status = status
		t.ok(t.store.Endpoints().Update(t.Context(), e), "Endpoints.Update")
	}
	return []storeCase{
		{name: "a disabled endpoint gets no new deliveries", run: func(t *storeTest) {
			withEndpoints(t)
			set(t, "a", deliver.EndpointDisabled)
			b := t.commitDue(t.start, newEvent(one, "1"))
			expect(t, endpointsOf(b.Deliveries), "c", "Commit made a delivery for a disabled endpoint")
			set(t, "a", deliver.EndpointActive)
			b = t.commitDue(t.start, newEvent(one, "2"))
			expect(t, endpointsOf(b.Deliveries), "a c", "Commit has to make deliveries for an endpoint that is enabled again")
		}},
		{name: "disabling an endpoint leaves its open deliveries open", run: func(t *storeTest) {
			withEndpoints(t)
			t.commitDue(t.start, newEvent(one, "1"))
			set(t, "a", deliver.EndpointDisabled)
			expect(t, endpointsOf(t.claim(t.start, 10)), "a c", "a disabled endpoint gets no new deliveries, but those it had stay open")
		}},
		{name: "an endpoint gets nothing of events from before it was bound", run: func(t *storeTest) {
			t.bind(one, "early")
			t.commitDue(t.start, newEvent(one, "1"))
			t.bind(one, "late")
			b := t.commitDue(t.start, newEvent(one, "1"))
			expect(t, len(b.Deliveries), 0, "an event known already got deliveries for an endpoint bound later")
			expect(t, endpointsOf(t.claim(t.start, 10)), "early", "an endpoint got a delivery of an event from before it was bound")
		}},
		{name: "a deleted endpoint gets no new deliveries", run: func(t *storeTest) {
			es := withEndpoints(t)
			t.ok(es.Delete(t.Context(), "acme", "a"), "Endpoints.Delete")
			b := t.commitDue(t.start, newEvent(one, "1"))
			expect(t, endpointsOf(b.Deliveries), "c", "Commit made a delivery for a deleted endpoint")
		}},
		{name: "deleting an endpoint ends its open deliveries", run: func(t *storeTest) {
			es := withEndpoints(t)
			ds := t.commitDue(t.start, newEvents(one, "1", "2", "3")...).Deliveries
			if len(ds) != 6 {
				t.Fatalf("Commit made %d deliveries of three events for two endpoints, want 6", len(ds))
			}
			t.settle(attempted(ds[0].ID, 1, deliver.StateDelivered, t.start)) // 1 to a
			t.settle(attempted(ds[2].ID, 1, deliver.StateRetrying, t.start))  // 2 to a
			t.ok(es.Delete(t.Context(), "acme", "a"), "Endpoints.Delete")
			for i, want := range []struct {
				state    deliver.State
				attempts int
				rule     string
			}{
				{deliver.StateDelivered, 1, "Delete changed a delivery that was final"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
				{deliver.StateFailed, 1, "Delete has to end a delivery between attempts in StateFailed, with its log as it was"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
				{deliver.StateFailed, 0, "Delete has to end a pending delivery in StateFailed"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
			} {
				got := t.entry("acme", ds[i].ID)
				expect(t, got.State, want.state, "%s", want.rule)
				expect(t, got.Attempts, want.attempts, "%s", want.rule)
			}
			expect(t, endpointsOf(t.claim(t.start, 10)), "c c c", "Claim gave deliveries of a deleted endpoint")
			expect(t, t.nextDue(), "60", "NextDue counts deliveries of a deleted endpoint")
		}},
	}
}
