package webhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// Each attempt has a trace of its own, which the receiver sees, with either client.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	eachClient(t, func(t *testing.T, own bool, sender newSender) {
		for _, row := range []struct {
			name, traceparent, ownHeader string
			want                         []string
		}{
			{"a trace", parent, "", []string{parent}},
			{"none", "", "", nil},
			{"the endpoint has one", parent, "theirs", []string{"theirs"}},
		} {
			t.Run(row.name, func(t *testing.T) {
				var got []string
				receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					got = r.Header.Values("traceparent")
					w.WriteHeader(http.StatusServiceUnavailable)
				}))
				defer receiver.Close()
				type key struct{}
				var began string
				var ended []deliver.Result
				hook := sender(webhook.Config{AllowPrivate: true, Trace: func(ctx context.Context, d *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
					began = d.ID
					return context.WithValue(ctx, key{}, 1), row.traceparent, func(r deliver.Result) { ended = append(ended, r) }
				}}, &netguard.Guard{}, nil)
				defer hook.Close()
				d := delivery(receiver.URL)
				if row.ownHeader != "" {
					d.Endpoint.Headers = []deliver.Header{{Name: "TraceParent", Value: deliver.Secret(row.ownHeader)}}
				}
				r := hook.Send(t.Context(), d)
				if !slices.Equal(got, row.want) {
					t.Errorf("the receiver got %q, want %q", got, row.want)
				}
				if began != d.ID || len(ended) != 1 || ended[0] != r || r.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("begun for %q, ended with %+v, want %q and %+v", began, ended, d.ID, r)
				}
			})
		}
	})
}

// A trace is of one delivery: the next one to the same endpoint does not have it.
func TestTraceIsOfOneDelivery(t *testing.T) {
	eachClient(t, func(t *testing.T, own bool, sender newSender) {
		var got []string
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("traceparent"))
		}))
		defer receiver.Close()
		traces := []string{"a", "", "b", "c", ""}
		hook := sender(webhook.Config{AllowPrivate: true, Trace: func(ctx context.Context, _ *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
			return ctx, traces[len(got)], func(deliver.Result) {}
		}}, &netguard.Guard{}, nil)
		defer hook.Close()
		for range traces {
			hook.Send(t.Context(), delivery(receiver.URL))
		}
		if !slices.Equal(got, traces) {
			t.Errorf("the receiver got %q, want %q", got, traces)
		}
	})
}

// The context that Trace returns is the request's.
func TestTraceContext(t *testing.T) {
	type key struct{}
	var seen any
	hook := webhook.Must(webhook.Config{
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			seen = r.Context().Value(key{})
			return &http.Response{StatusCode: 204, Body: http.NoBody}, nil
		}),
		Trace: func(ctx context.Context, _ *deliver.Delivery) (context.Context, string, func(deliver.Result)) {
			return context.WithValue(ctx, key{}, "span"), "", func(deliver.Result) {}
		},
	})
	if r := hook.Send(t.Context(), delivery("https://example.com/")); !r.OK || seen != "span" {
		t.Errorf("%+v, the request's context has %v, want span", r, seen)
	}
}
