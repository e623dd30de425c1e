package endpoints_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

func TestEndpointHeaders(t *testing.T) {
	m, _ := newManager(t, nil)
	many := func(n int) (hs []deliver.Header) {
		for i := range n {
			hs = append(hs, deliver.Header{Name: fmt.Sprint("X-", i), Value: "v"})
		}
		return hs
	}
	one := func(name, value string) []deliver.Header {
		return []deliver.Header{{Name: name, Value: deliver.Secret(value)}}
	}
	const allowed, refused = true, false
	for i, row := range []struct {
		name    string
		headers []deliver.Header
		ok      bool
	}{
		{"none", nil, allowed},
		{"a token for the receiver", one("Authorization", "Bearer canary"), allowed},
		{"lower case", one("x-tenant", "canary"), allowed},
		{"white space inside", one("X-A", "canary\tb c"), allowed},
		{"all of printable ASCII", one("X-A", "!canary\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), allowed},
		{"the longest name", one(strings.Repeat("n", 128), "canary"), allowed},
		{"the longest value", one("X-A", strings.Repeat("v", 2048)), allowed},
		{"20 of them", many(20), allowed},
		{"a name that begins like a reserved one", one("Hostess", "canary"), allowed},

		{"21 of them", many(21), refused},
		{"one name twice", append(one("X-A", "canary"), one("x-a", "b")...), refused},
		{"one name twice, with - and _", append(one("X-A", "canary"), one("X_A", "b")...), refused},
		{"no name", one("", "canary"), refused},
		{"a name too long", one(strings.Repeat("n", 129), "canary"), refused},
		{"a value too long", one("X-A", strings.Repeat("v", 2049)), refused},
		{"an empty value", one("X-A", ""), refused},
		{"space before the value", one("X-A", " canary"), refused},
		{"tab after the value", one("X-A", "canary\t"), refused},

		{"CR and LF in a value", one("X-A", "canary\r\nX-Signature-256: sha256=0"), refused},
		{"LF in a value", one("X-A", "canary\nHost: evil"), refused},
		{"CR in a value", one("X-A", "canary\rb"), refused},
		{"NUL in a value", one("X-A", "canary\x00"), refused},
		{"DEL in a value", one("X-A", "canary\x7f"), refused},
		{"ESC in a value", one("X-A", "canary\x1b[31m"), refused},
		{"a value that is not ASCII", one("X-A", "canary-é"), refused},
		{"a value that becomes LF when it is cut to bytes", one("X-A", "canary\u010aX-B: c"), refused},
		{"a value that is not UTF-8", one("X-A", "canary\xff"), refused},

		{"CR and LF in a name", one("X-A: b\r\nX-B", "canary"), refused},
		{"LF in a name", one("X-A\n", "canary"), refused},
		{"NUL in a name", one("X-A\x00", "canary"), refused},
		{"colon in a name", one("X-A:", "canary"), refused},
		{"a pseudo header", one(":authority", "canary"), refused},
		{"space in a name", one("X A", "canary"), refused},
		{"space after a name", one("X-A ", "canary"), refused},
		{"a name that is not ASCII", one("X-É", "canary"), refused},
		{"a name that is ASCII in another width", one("Ｈost", "canary"), refused},
		{"a name that is not UTF-8", one("X-\xff", "canary"), refused},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: fmt.Sprintf("https://h.example.com/%d", i), Headers: row.headers})
			if row.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var fe *deliver.FieldError
			if !errors.As(err, &fe) || fe.Wire != "headers" || fe.Allowed == "" {
				t.Fatalf("error %v, want a FieldError of headers", err)
			}
			if strings.Contains(err.Error(), "canary") || strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
				t.Errorf("the error shows the value, or control characters: %v", err)
			}
		})
	}
}

func TestEndpointHeadersReserved(t *testing.T) {
	m, _ := newManager(t, nil)
	for _, name := range []string{
		// of every request
		"Host", "User-Agent", "Content-Type", "Content-Length", "Content-Encoding", "Content-MD5", "X-Signature-256", "X-Webhook-Id",
		"X-Delivery-Id", "webhook-id", "Webhook-Timestamp", "WEBHOOK-SIGNATURE", "webhook-anything", "Accept-Encoding", "Date", "Expect",
		// of a connection
		"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "HTTP2-Settings",
		// of a proxy, of a browser
		"Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Cookie", "Origin", "Referer", "Sec-Fetch-Mode", "Access-Control-Request-Method",
		"X-HTTP-Method-Override",
		// that make all deliveries one
		"Idempotency-Key", "X-Idempotency-Key", "x_idempotency_key",
		// of a cloud
		"X-Amz-Date", "X-Amzn-Trace-Id", "X-Goog-Api-Key", "X-Google-Metadata-Request", "X-Azure-Ref", "X-Ms-Version", "X-Aws-Ec2-Metadata-Token",
		"Metadata", "Metadata-Flavor", "X-Aliyun-Ecs-Metadata-Token",
		// as some servers read them
		"X_Signature_256", "transfer_encoding", "x_delivery-id",
	} {
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ToLower(name), textproto.CanonicalMIMEHeaderKey(name)} {
			_, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://h.example.com/", Headers: []deliver.Header{{Name: spelled, Value: "v"}}})
			var fe *deliver.FieldError
			if !errors.As(err, &fe) || fe.Wire != "headers" || fe.Value != spelled || !strings.Contains(fe.Allowed, "reserved") {
				t.Errorf("%s: %v", spelled, err)
			}
		}
	}
}

// What an endpoint's headers say is sent; were a reserved one stored all the
// same, it would not replace ours.
func TestWebhookSendsHeaders(t *testing.T) {
	d := delivery("https://example.com/hook")
	d.Endpoint.Headers = []deliver.Header{{Name: "authorization", Value: "Bearer x"}, {Name: "X-Signature-256", Value: "forged"}, {Name: "webhook-id", Value: "forged"}}
	var got http.Header
	hook := newSender(t, webhook.Config{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		got = r.Header
		return answer(200, "")(r)
	})})
	if r := hook.Send(t.Context(), d); !r.OK {
		t.Fatalf("%+v", r)
	}
	for name, want := range map[string]string{"Authorization": "Bearer x", "X-Signature-256": signature, "Webhook-Id": "dlv_1"} {
		if v := got.Values(name); len(v) != 1 || v[0] != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
}
