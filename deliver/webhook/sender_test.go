package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a transport whose receiver answers with a status, headers as
// name and value, and a body.
func answer(status int, body string, headers ...string) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Add(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// sendVia makes one attempt with a transport in place of the network.
func sendVia(t *testing.T, rt http.RoundTripper) deliver.Result {
	t.Helper()
	hook := webhook.Must(webhook.Config{Transport: rt})
	defer hook.Close()
	return hook.Send(t.Context(), delivery("https://example.com/hook"))
}

func TestWebhookRequest(t *testing.T) { eachClient(t, testWebhookRequest) }

func testWebhookRequest(t *testing.T, own bool, sender newSender) {
	type seen struct {
		method, path, body, encoding string
		length                       int64
		header                       http.Header
	}
	var got []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, seen{r.Method, r.URL.String(), string(b), strings.Join(r.TransferEncoding, ","), r.ContentLength, r.Header})
		io.WriteString(w, "thanks")
	}))
	defer server.Close()
	for _, agent := range []string{"", "acme/2"} {
		hook := sender(webhook.Config{AllowPrivate: true, UserAgent: agent, Now: func() time.Time { return time.Unix(1700000000, 0) }}, &netguard.Guard{}, nil)
		r := hook.Send(t.Context(), delivery(server.URL+"/hook?x=1"))
		hook.Close()
		if want := (deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "thanks"}); r != want {
			t.Fatalf("got %+v, want %+v", r, want)
		}
	}
	for i, s := range got {
		if s.method != "POST" || s.path != "/hook?x=1" || s.body != body || s.length != int64(len(body)) || s.encoding != "" {
			t.Errorf("request %+v", s)
		}
		want := map[string]string{
			"Content-Type": "application/json", deliver.HeaderWebhookID: "whk_1", deliver.HeaderDeliveryID: "dlv_1",
			deliver.HeaderSignature: signature, "User-Agent": []string{webhook.DefaultUserAgent, "acme/2"}[i],
			"Content-Length":                strconv.Itoa(len(body)),
			deliver.HeaderStandardID:        "dlv_1",
			deliver.HeaderStandardTimestamp: "1700000000",
			deliver.HeaderStandardSignature: deliver.SignStandard(secret, "dlv_1", time.Unix(1700000000, 0), []byte(body)),
		}
		for name, value := range want {
			if s.header.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, s.header.Get(name), value)
			}
		}
		if len(s.header) != len(want) {
			t.Errorf("headers %v, want only %v", s.header, want)
		}
	}
}

func TestWebhookStatus(t *testing.T) {
	for status := 101; status <= 599; status++ {
		r := sendVia(t, answer(status, "b", "Retry-After", "7", "Location", "https://example.com/"))
		want := deliver.Result{StatusCode: status, ResponsePreview: "b", Error: fmt.Sprintf("status %d", status)}
		switch {
		case status == 101:
			want.ResponsePreview = ""
		case status >= 200 && status <= 299:
			want.OK, want.Error = true, ""
		case status >= 300 && status <= 399:
			want.Error = "redirect not followed"
		case status == 410:
			want.Permanent = true
		case status == 429 || status == 503:
			want.RetryAfter = 7 * time.Second
		}
		if r != want {
			t.Errorf("status %d gave %+v, want %+v", status, r, want)
		}
	}
}

func TestWebhookClosesTheBody(t *testing.T) {
	for _, status := range []int{200, 101, 302, 500} {
		b := &closeCounter{Reader: strings.NewReader("x")}
		sendVia(t, roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: b}, nil
		}))
		if b.closed != 1 {
			t.Errorf("status %d: closed %d times, want once", status, b.closed)
		}
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

func TestWebhookRefusesBeforeTheNetwork(t *testing.T) {
	calls := 0
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		calls++
		return answer(200, "")(r)
	})
	noSecret := delivery("https://example.com/")
	noSecret.Endpoint.Secret = ""
	tests := []struct {
		name string
		d    *deliver.Delivery
		want string
	}{
		{"http", delivery("http://example.com/"), "url not allowed"},
		{"private address", delivery("https://10.0.0.1/"), "url not allowed"},
		{"no url", delivery(""), "url not allowed"},
		{"no secret", noSecret, "no signing secret"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			hook := webhook.Must(webhook.Config{Transport: rt})
			if r, want := hook.Send(t.Context(), tc.d), (deliver.Result{Permanent: true, Error: tc.want}); r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		})
	}
	if calls != 0 {
		t.Errorf("%d requests, want none", calls)
	}
}

func TestWebhookPreview(t *testing.T) {
	tests := []struct {
		name, body, want string
	}{
		{"short", "no such hook", "no such hook"},
		{"4 KiB", strings.Repeat("a", 4096), strings.Repeat("a", 4096)},
		{"longer", strings.Repeat("a", 5000), strings.Repeat("a", 4096)},
		{"cut inside a character", strings.Repeat("a", 4095) + "é", strings.Repeat("a", 4095)},
		{"not UTF-8", "a\xff\xfeb", "a\ufffdb"},
		{"not UTF-8 throughout", strings.Repeat("\xff\x00", 4096), "(binary, not shown)"},
		{"not UTF-8 and without control characters", strings.Repeat("\xff\xa0x", 2000), "(binary, not shown)"},
		{"an image", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "(binary, not shown)"},
		{"gzip", string(gzipped(t, "no such hook")), "(binary, not shown)"},
		{"ISO 8859-1", "Zugriff verweigert: Schl\xfcssel ung\xfcltig", "Zugriff verweigert: Schl\ufffdssel ung\ufffdltig"},
		{"lines, tabs and colours", "a\r\n\tb\f\x1b[31mc", "a\r\n\tb\f\x1b[31mc"},
		{"empty", "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := sendVia(t, answer(400, tc.body)).ResponsePreview
			if got != tc.want {
				t.Errorf("%d bytes, want %d: %.40q", len(got), len(tc.want), got)
			}
			if !utf8.ValidString(got) || len(got) > 4096 {
				t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
			}
		})
	}
}

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWebhookTLS(t *testing.T) { eachClient(t, testWebhookTLS) }

func testWebhookTLS(t *testing.T, own bool, sender newSender) {
	tests := []struct {
		name   string
		host   string
		server func(*tls.Config)
		client func(*tls.Config)
		want   string // error; "" for success
	}{
		{name: "a certificate that is trusted", want: ""},
		{name: "an IPv6 address", host: "[::1]", want: ""},
		{name: "unknown authority", client: func(c *tls.Config) { c.RootCAs = nil }, want: "tls: certificate of an unknown authority"},
		{name: "another host", host: "example.net", want: "tls: certificate of another host"},
		{
			name: "expired", client: func(c *tls.Config) { c.Time = func() time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) } },
			want: "tls: certificate expired or not yet valid",
		},
		{name: "TLS 1.2", server: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, want: ""},
		{name: "TLS 1.1", server: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, want: "tls: handshake failed"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var sni, proto string
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				sni, proto = r.TLS.ServerName, r.Proto
			}))
			server.EnableHTTP2 = true // and yet it is not used
			server.Config.ErrorLog = quiet
			server.TLS = &tls.Config{}
			if tc.server != nil {
				tc.server(server.TLS)
			}
			server.StartTLS()
			defer server.Close()
			g := &netguard.Guard{}
			netguard.SetNet(g, publicName, func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
			})
			hook := sender(webhook.Config{AllowPrivate: true}, g, server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs)
			defer hook.Close()
			if tc.client != nil {
				tc.client(hook.TLSConfig())
			}
			host := tc.host
			if host == "" {
				host = "example.com"
			}
			r := hook.Send(t.Context(), delivery("https://"+host+"/"))
			if r.OK != (tc.want == "") || r.Error != tc.want {
				t.Errorf("got %+v, want error %q", r, tc.want)
			}
			if r.OK && (sni != strings.TrimPrefix(host, "[::1]") || proto != "HTTP/1.1") {
				t.Errorf("server name %q by %s, want %q by HTTP/1.1", sni, proto, host)
			}
		})
	}
}

// TestWebhookErrors: whatever the network says, the result's error is a
// few words without addresses.
func TestWebhookErrors(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"guard", fmt.Errorf("dial tcp 10.0.0.1:443: %w", netguard.ErrAddressNotAllowed), "address not allowed"},
		{"deadline", context.DeadlineExceeded, "timeout"},
		{"shutdown", context.Canceled, "canceled"},
		{"no such host", &net.DNSError{Err: "no such host", Name: "x", Server: "10.0.0.53:53", IsNotFound: true}, "host not found"},
		{"resolver trouble", &net.DNSError{Err: "server misbehaving", Name: "x", Server: "10.0.0.53:53"}, "host look-up failed"},
		{"resolver time-out", &net.DNSError{Err: "i/o timeout", Server: "10.0.0.53:53", IsTimeout: true}, "timeout"},
		{"not TLS", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "tls: not a TLS server"},
		{"cut", io.ErrUnexpectedEOF, "connection closed before an answer"},
		{"anything else", errors.New("read tcp 10.0.0.1:443: strange"), "no valid answer"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := sendVia(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, tc.err }))
			if want := (deliver.Result{Error: tc.want}); r != want {
				t.Errorf("got %+v, want %+v", r, want)
			}
		})
	}
}

func TestNewWebhookRefusesAndNamesTheField(t *testing.T) {
	for want, cfg := range map[string]webhook.Config{
		"Timeout -1s":   {Timeout: -time.Second},
		"Timeout 1h":    {Timeout: time.Hour},
		"UserAgent \"a": {UserAgent: "a\r\nX: y"},
	} {
		if _, err := webhook.New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("error %v, want one that names %s and says what is allowed", err, want)
		}
	}
}
