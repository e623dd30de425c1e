package storetest

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// fullEndpoint returns an endpoint with a value in every field.
func fullEndpoint(t *storeTest) deliver.Endpoint {
	return deliver.Endpoint{
		ID: "full", Source: deliver.Source{Kind: deliver.SourceRule, ID: "r1", Owner: "acme", Name: "rockets"},
		URL: "https://example.com/hook?a=b", Secret: "whsec_of_the_conformance_suite",
		OldSecrets: []deliver.OldSecret{{Secret: "the_one_before_it", Until: t.at(60)}, {Secret: "the_first", Until: t.at(30)}},
		Headers:    []deliver.Header{{Name: "X-Tenant", Value: "acme"}, {Name: "Authorization", Value: "Bearer of_the_receiver"}},
		Limits:     deliver.Limits{Rate: 2.25, Burst: 7, InFlight: 3},
		Bound:      true, Separate: true, From: t.at(-60),
		Status: deliver.EndpointDisabled, StatusReason: "answered 410 three times", StatusSince: t.at(8), EnabledAt: t.at(5),
		PausedSince: t.at(7), FailingSince: t.at(6),
		CreatedAt: t.start.Add(time.Microsecond), UpdatedAt: t.at(9), Version: 41,
	}
}

// endpointFieldCases change one field at a time.
func endpointFieldCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		field  string
		change func(t *storeTest, e *deliver.Endpoint)
	}{
		{"URL", func(t *storeTest, e *deliver.Endpoint) { e.URL = "https://example.com/moved" }},
		{"Secret", func(t *storeTest, e *deliver.Endpoint) { e.Secret = "another" }},
		{"OldSecrets, one more", func(t *storeTest, e *deliver.Endpoint) {
			e.OldSecrets = append([]deliver.OldSecret{{Secret: "newer", Until: t.at(90)}}, e.OldSecrets...)
		}},
		{"OldSecrets, none left", func(t *storeTest, e *deliver.Endpoint) { e.OldSecrets = nil }},
		{"Headers, others", func(t *storeTest, e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "X-B", Value: "b"}} }},
		{"Headers, none left", func(t *storeTest, e *deliver.Endpoint) { e.Headers = nil }},
		{"Limits.Rate", func(t *storeTest, e *deliver.Endpoint) { e.Limits.Rate = 0.01 }},
		{"Limits.Burst", func(t *storeTest, e *deliver.Endpoint) { e.Limits.Burst = 1000 }},
		{"Limits.InFlight", func(t *storeTest, e *deliver.Endpoint) { e.Limits.InFlight = 0 }},
		{"Separate", func(t *storeTest, e *deliver.Endpoint) { e.Separate = false }},
		{"From", func(t *storeTest, e *deliver.Endpoint) { e.From = time.Time{} }},
		{"Status", func(t *storeTest, e *deliver.Endpoint) { e.Status = deliver.EndpointActive }},
		{"StatusReason", func(t *storeTest, e *deliver.Endpoint) { e.StatusReason = "" }},
		{"StatusSince", func(t *storeTest, e *deliver.Endpoint) { e.StatusSince = time.Time{} }},
		{"EnabledAt", func(t *storeTest, e *deliver.Endpoint) { e.EnabledAt = t.at(4) }},
		{"PausedSince", func(t *storeTest, e *deliver.Endpoint) { e.PausedSince = time.Time{} }},
		{"FailingSince", func(t *storeTest, e *deliver.Endpoint) { e.FailingSince = t.at(5) }},
		{"UpdatedAt", func(t *storeTest, e *deliver.Endpoint) { e.UpdatedAt = t.at(10) }},
	} {
		cases = append(cases, storeCase{name: "Update replaces " + row.field, run: func(t *storeTest) {
			es, e := t.store.Endpoints(), fullEndpoint(t)
			t.ok(es.Create(t.Context(), e), "Endpoints.Create")
			row.change(t, &e)
			t.ok(es.Update(t.Context(), e), "Endpoints.Update")
			e.Version++
			got, err := es.Get(t.Context(), "acme", e.ID)
			t.ok(err, "Endpoints.Get")
			t.same(got, e, "Get gave another endpoint than Update was given: it replaces all but Source and CreatedAt, and stores Version+1")
			list, err := es.List(t.Context(), "acme", e.Source.ID)
			t.ok(err, "Endpoints.List")
			t.same(list, []deliver.Endpoint{e}, "List gave another endpoint than Update was given")
		}})
	}
	return append(cases, storeCase{name: "text survives in every field", run: func(t *storeTest) {
		const text = "żółw 🚀 \x00\x1b\r\n\" \\ '; -- <&> {tag}"
		e := fullEndpoint(t)
		e.Secret, e.OldSecrets[0].Secret, e.StatusReason = text, text, text
		e.Headers[0] = deliver.Header{Name: text, Value: text}
		t.ok(t.store.Endpoints().Create(t.Context(), e), "Endpoints.Create")
		got, err := t.store.Endpoints().Get(t.Context(), "acme", e.ID)
		t.ok(err, "Endpoints.Get")
		t.same(got, e, "an endpoint's text did not survive")
	}})
}

// endpointVersionCases test updates of an endpoint whose version has changed.
func endpointVersionCases() []storeCase {
	on := func(name string, run func(*storeTest, deliver.EndpointStore)) storeCase {
		return storeCase{name: name, run: func(t *storeTest) { run(t, withEndpoints(t)) }}
	}
	return []storeCase{
		on("Update of a version that is not stored is a conflict and changes nothing", func(t *storeTest, es deliver.EndpointStore) {
			e := t.endpoint(storeSource("acme", "one"), "a")
			t.ok(es.Update(t.Context(), e), "Endpoints.Update")
			e.URL = "https://example.com/stale"
			t.refused(es.Update(t.Context(), e), deliver.ErrEndpointConflict, "Update took an endpoint whose Version is older than the stored one")
			e.Version += 7
			t.refused(es.Update(t.Context(), e), deliver.ErrEndpointConflict, "Update took an endpoint whose Version is newer than the stored one")
			got, err := es.Get(t.Context(), "acme", "a")
			t.ok(err, "Endpoints.Get")
			want := t.endpoint(storeSource("acme", "one"), "a")
			want.Version = 1
			t.same(got, want, "a refused Update changed the endpoint")
			e.ID, e.Version = "new", 0
			t.ok(es.Create(t.Context(), e), "Endpoints.Create with a URL that a refused Update named")
		}),
		on("of concurrent updates of one version one succeeds", func(t *storeTest, es deliver.EndpointStore) {
			oneOf(t, deliver.ErrEndpointConflict, "Endpoints.Update of one Version", func(int) error {
				return es.Update(t.Context(), t.endpoint(storeSource("acme", "one"), "a"))
			})
		}),
	}
}

// endpointMemoryCases test that a store shares no memory with the records that it gets or returns.
func endpointMemoryCases() []storeCase {
	spoil := func(e deliver.Endpoint) {
		e.OldSecrets[0].Secret = "spoilt"
		e.Headers[0].Value = "spoilt"
	}
	var cases []storeCase
	for _, row := range []struct {
		name string
		do   func(t *storeTest, es deliver.EndpointStore, given deliver.Endpoint)
	}{
		{"what Create was given", func(t *storeTest, _ deliver.EndpointStore, given deliver.Endpoint) { spoil(given) }},
		{"what Update was given", func(t *storeTest, es deliver.EndpointStore, _ deliver.Endpoint) {
			e := fullEndpoint(t)
			t.ok(es.Update(t.Context(), e), "Endpoints.Update")
			spoil(e)
		}},
		{"what Get gave", func(t *storeTest, es deliver.EndpointStore, given deliver.Endpoint) {
			e, err := es.Get(t.Context(), "acme", given.ID)
			t.ok(err, "Endpoints.Get")
			spoil(e)
		}},
		{"what List gave", func(t *storeTest, es deliver.EndpointStore, given deliver.Endpoint) {
			list, err := es.List(t.Context(), "acme", given.Source.ID)
			t.ok(err, "Endpoints.List")
			if len(list) != 1 {
				t.Fatalf("List gave %d endpoints, want the one there is", len(list))
			}
			spoil(list[0])
		}},
	} {
		cases = append(cases, storeCase{name: row.name + " shares no memory with the store", run: func(t *storeTest) {
			es, given := t.store.Endpoints(), fullEndpoint(t)
			t.ok(es.Create(t.Context(), given), "Endpoints.Create")
			row.do(t, es, given)
			e, err := es.Get(t.Context(), "acme", given.ID)
			t.ok(err, "Endpoints.Get")
			t.same(e.OldSecrets, fullEndpoint(t).OldSecrets, "the stored secrets changed with %s: copy records on their way in and out", row.name)
			t.same(e.Headers, fullEndpoint(t).Headers, "the stored headers changed with %s: copy records on their way in and out", row.name)
		}})
	}
	return cases
}
