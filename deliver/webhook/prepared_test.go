package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// What requests have in common is kept from one to the next; each change of the
// endpoint is in the next request all the same.
func TestWebhookRequestFollowsItsEndpoint(t *testing.T) {
	var got *http.Request
	hook := webhook.Must(webhook.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})})
	d := delivery("https://example.com/1")
	d.Endpoint.ID = "whk_1"
	other := delivery("https://example.com/other")
	other.Endpoint.ID = "whk_2"
	key := deliver.GenerateSecret()
	for _, row := range []struct {
		name string
		edit func(e *deliver.Endpoint)
	}{
		{"as it is", func(*deliver.Endpoint) {}},
		{"again", func(*deliver.Endpoint) {}},
		{"another url", func(e *deliver.Endpoint) { e.URL = "https://example.com/2" }},
		{"another secret", func(e *deliver.Endpoint) {
			e.Secret, e.OldSecrets = key, []deliver.OldSecret{{Secret: e.Secret, Until: time.Now().Add(time.Hour)}}
		}},
		{"the old one ends", func(e *deliver.Endpoint) { e.OldSecrets = nil }},
		{"a header", func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "X-Own", Value: "1"}} }},
		{"another value", func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "X-Own", Value: "2"}} }},
		{"no header", func(e *deliver.Endpoint) { e.Headers = nil }},
	} {
		row.edit(&d.Endpoint)
		hook.Send(t.Context(), other)
		if r := hook.Send(t.Context(), d); !r.OK {
			t.Fatalf("%s: %+v", row.name, r)
		}
		signedBy := d.Endpoint.Secret
		if len(d.Endpoint.OldSecrets) > 0 {
			signedBy = d.Endpoint.OldSecrets[0].Secret
		}
		signatures := strings.Fields(got.Header.Get(deliver.HeaderStandardSignature))
		if got.URL.String() != d.Endpoint.URL || got.Header.Get(deliver.HeaderSignature) != deliver.Sign(signedBy, d.Event.Body) ||
			len(signatures) != 1+len(d.Endpoint.OldSecrets) || got.Header.Get(deliver.HeaderWebhookID) != "whk_1" {
			t.Errorf("%s: %s, %v", row.name, got.URL, got.Header)
		}
		own := ""
		for _, h := range d.Endpoint.Headers {
			own = string(h.Value)
		}
		if got.Header.Get("X-Own") != own {
			t.Errorf("%s: X-Own is %q, want %q", row.name, got.Header.Get("X-Own"), own)
		}
	}
}

// Many goroutines, and more endpoints than are kept.
func TestWebhookKeepsManyEndpointsApart(t *testing.T) {
	secrets := make([]deliver.Secret, 5000)
	for i := range secrets {
		secrets[i] = deliver.GenerateSecret()
	}
	body := []byte("{}")
	hook := webhook.Must(webhook.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || !deliver.Verify(secrets[i], body, r.Header.Get(deliver.HeaderSignature)) {
			t.Errorf("%s is signed by another's secret", r.URL)
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range secrets {
				hook.Send(t.Context(), &deliver.Delivery{ID: "d", Event: &deliver.Event{Body: body},
					Endpoint: deliver.Endpoint{ID: fmt.Sprint("whk_", i), URL: fmt.Sprint("https://example.com/", i), Secret: secrets[i]}})
			}
		})
	}
	wg.Wait()
}
