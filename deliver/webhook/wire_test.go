package webhook_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// The bytes that are sent are those of the request that a RoundTripper is given.
func TestRequestOnTheWire(t *testing.T) {
	type seen struct {
		method, uri, host, body string
		length                  int64
		header                  string
	}
	look := func(r *http.Request) seen {
		body, _ := io.ReadAll(r.Body)
		return seen{r.Method, r.URL.RequestURI(), r.Host, string(body), r.ContentLength, fmt.Sprint(r.Header)}
	}
	var got seen
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.Header.Del("Content-Length")
		got = look(r)
	}))
	defer server.Close()
	now := func() time.Time { return time.Unix(1760000000, 0) }
	hook := webhook.Must(webhook.Config{AllowPrivate: true, Now: now})
	defer hook.Close()
	var want seen
	model := webhook.Must(webhook.Config{AllowPrivate: true, Now: now, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Host == "" {
			r.Host = r.URL.Host
		}
		want = look(r)
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})})
	for _, row := range []struct {
		name string
		edit func(*deliver.Delivery)
	}{
		{"as it is", func(*deliver.Delivery) {}},
		{"a path and a query", func(d *deliver.Delivery) { d.Endpoint.URL += "/a%20b/%2f?q=1&r=%41;x" }},
		{"a query alone", func(d *deliver.Delivery) { d.Endpoint.URL += "?q" }},
		{"no body", func(d *deliver.Delivery) { d.Event.Body = nil }},
		{"a long body", func(d *deliver.Delivery) { d.Event.Body = []byte(strings.Repeat("x", 1<<20)) }},
		{"an old secret", func(d *deliver.Delivery) {
			d.Endpoint.OldSecrets = []deliver.OldSecret{{Secret: deliver.GenerateSecret(), Until: now().Add(time.Hour)}}
		}},
		{"headers of its own", func(d *deliver.Delivery) {
			d.Endpoint.Headers = []deliver.Header{{Name: "authorization", Value: "Bearer x"}, {Name: "x-a", Value: "1"}}
		}},
		// These cannot be registered. Were they stored all the same, they are not sent.
		{"headers that frame a request", func(d *deliver.Delivery) {
			d.Endpoint.Headers = []deliver.Header{{Name: "Host", Value: "x"}, {Name: "Content-Length", Value: "1"}, {Name: "Transfer-Encoding", Value: "chunked"}, {Name: "Connection", Value: "close"}}
		}},
		{"headers that begin another", func(d *deliver.Delivery) {
			d.Endpoint.Headers = []deliver.Header{{Name: "X-A", Value: "1\r\nX-B: 2\r\n\r\nGET / HTTP/1.1"}, {Name: "X: a\r\nX-B", Value: "2"}, {Name: "X-C", Value: "\x00"}}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := delivery(server.URL)
			row.edit(d)
			got, want = seen{}, seen{}
			if r := hook.Send(t.Context(), d); !r.OK {
				t.Fatalf("%+v", r)
			}
			model.Send(t.Context(), d)
			if got != want {
				t.Errorf("got %.1000v\nwant %.1000v", got, want)
			}
		})
	}
	d := delivery(server.URL)
	d.ID = "dlv_1\r\nX-B: 2"
	if r, want := hook.Send(t.Context(), d), (deliver.Result{Permanent: true, Error: "delivery id not allowed"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}
