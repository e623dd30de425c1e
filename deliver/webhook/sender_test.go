package webhook_test

import (
	"bufio"
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
	"sync"
	"testing"
	"testing/synctest"
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

// A status in PermanentStatus ends a delivery as 410 does; others are retried.
func TestWebhookPermanentStatus(t *testing.T) {
	hook := webhook.Must(webhook.Config{PermanentStatus: []int{400, 404}, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		status, err := strconv.Atoi(r.URL.Query().Get("status"))
		return &http.Response{StatusCode: status, Body: http.NoBody}, err
	})})
	for status, want := range map[int]bool{400: true, 401: false, 404: true, 410: true, 429: false, 500: false} {
		if r := hook.Send(t.Context(), delivery(fmt.Sprint("https://example.com/?status=", status))); r.StatusCode != status || r.Permanent != want {
			t.Errorf("status %d: %+v, want permanent %t", status, r, want)
		}
	}
}

func TestWebhookDeadline(t *testing.T) {
	// after answers with 200 when the time has passed, unless the request ends.
	after := func(d time.Duration) roundTrip {
		return func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(d):
				return answer(200, "")(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
	}
	tests := []struct {
		name     string
		answered time.Duration // 0 for never
		timeout  time.Duration // of the config
		caller   time.Duration // of the caller's context, 0 for none
		err      string
		took     time.Duration
	}{
		{"just in time", 9999 * time.Millisecond, 0, 0, "", 9999 * time.Millisecond},
		{"just too late", 10001 * time.Millisecond, 0, 0, "timeout", 10 * time.Second},
		{"its own time", 3 * time.Second, 2 * time.Second, 0, "timeout", 2 * time.Second},
		{"the caller's time is shorter", 3 * time.Second, 0, time.Second, "timeout", time.Second},
		{"the caller's time is longer", time.Hour, 0, 15 * time.Second, "timeout", 10 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				hook := webhook.Must(webhook.Config{Timeout: tc.timeout, Transport: after(tc.answered)})
				began := time.Now()
				r := hook.Send(ctx, delivery("https://example.com/"))
				if r.OK != (tc.err == "") || r.Error != tc.err || time.Since(began) != tc.took {
					t.Errorf("got %+v after %v, want error %q after %v", r, time.Since(began), tc.err, tc.took)
				}
			})
		})
	}
}

// TestWebhookDeadlineOverHTTP has net/http on both sides of a pipe, in virtual
// time: each part of an exchange stalls for ever, and the attempt ends at 10 s.
func TestWebhookDeadlineOverHTTP(t *testing.T) { eachClient(t, testWebhookDeadlineOverHTTP) }

func testWebhookDeadlineOverHTTP(t *testing.T, own bool, sender newSender) {
	tests := []struct {
		name string
		play func(net.Conn) // what the receiver writes after the request's headers
		want deliver.Result
		took time.Duration
	}{
		{"no connection", nil, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"no answer", func(net.Conn) {}, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"a header line a second", func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := 0; err == nil; i++ {
				<-time.After(time.Second)
				_, err = fmt.Fprintf(c, "X-%d: x\r\n", i)
			}
		}, deliver.Result{Error: "timeout"}, 10 * time.Second},
		{"a byte of the body now and then: the status decides", func(c net.Conn) {
			_, err := io.WriteString(c, "HTTP/1.1 202 Accepted\r\n\r\n")
			for err == nil {
				<-time.After(1500 * time.Millisecond)
				_, err = io.WriteString(c, "x")
			}
		}, deliver.Result{OK: true, StatusCode: 202, ResponsePreview: "xxxxxx"}, 10 * time.Second},
		{"a failure with a slow body", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nx")
		}, deliver.Result{StatusCode: 500, Error: "status 500", ResponsePreview: "x"}, 10 * time.Second},
		{"an answer at 9.999 s", func(c net.Conn) {
			<-time.After(9999 * time.Millisecond)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}, deliver.Result{OK: true, StatusCode: 200, ResponsePreview: "ok"}, 9999 * time.Millisecond},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var receiver sync.WaitGroup
				g := &netguard.Guard{}
				netguard.SetNet(g, nil, func(ctx context.Context, _, _ string) (net.Conn, error) {
					if tc.play == nil {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					near, far := net.Pipe()
					receiver.Go(func() {
						r := bufio.NewReader(far)
						for line, err := "", error(nil); line != "\r\n" && err == nil; {
							line, err = r.ReadString('\n')
						}
						receiver.Go(func() { io.Copy(io.Discard, r) })
						tc.play(far)
					})
					return near, nil
				})
				hook := sender(webhook.Config{AllowPrivate: true}, g, nil)
				began := time.Now()
				r := hook.Send(t.Context(), delivery("http://127.0.0.1/"))
				if took := time.Since(began); r != tc.want || took != tc.took {
					t.Errorf("got %+v after %v, want %+v after %v", r, took, tc.want, tc.took)
				}
				hook.Close()
				receiver.Wait()
			})
		})
	}
}

// TestWebhookLeavesNoConnection: in virtual time, a connection that has become
// of no use is closed, also without Close.
func TestWebhookLeavesNoConnection(t *testing.T) {
	tests := []struct {
		name, url string
		answer    string
		closed    time.Duration // from the beginning
	}{
		{"no connection", "http://127.0.0.2/", "", 10 * time.Second},
		{"no TLS handshake", "https://127.0.0.1/", "", 10 * time.Second},
		{"no answer", "http://127.0.0.1/", "", 10 * time.Second},
		{"a body without an end", "http://127.0.0.1/", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 16<<10), 0},
		{"idle", "http://127.0.0.1/", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 60 * time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				closed := make(chan time.Duration, 1)
				g := &netguard.Guard{}
				netguard.SetNet(g, nil, func(ctx context.Context, _, address string) (net.Conn, error) {
					if address == "127.0.0.2:80" {
						<-ctx.Done()
						closed <- time.Since(began)
						return nil, ctx.Err()
					}
					near, far := net.Pipe()
					go func() {
						r := bufio.NewReader(far)
						if tc.answer != "" {
							if _, err := http.ReadRequest(r); err != nil {
								t.Error(err)
							}
							io.WriteString(far, tc.answer)
						}
						io.Copy(io.Discard, r)
						closed <- time.Since(began)
					}()
					return near, nil
				})
				hook := webhook.NewOn(webhook.Config{AllowPrivate: true}, g, nil)
				hook.Send(t.Context(), delivery(tc.url))
				if got := <-closed; got != tc.closed {
					t.Errorf("closed after %v, want %v", got, tc.closed)
				}
			})
		})
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

func TestWebhookDoesNotReachLoopback(t *testing.T) {
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer server.Close()
	hook := webhook.Must(webhook.Config{})
	defer hook.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{server.URL, "https://localhost:" + port, "https://127.0.0.1/", "https://[::1]:8443/"} {
		if r := hook.Send(t.Context(), delivery(url)); r.OK || r.StatusCode != 0 {
			t.Errorf("%s gave %+v", url, r)
		}
	}
	if requests != 0 {
		t.Errorf("%d requests reached loopback, want 0", requests)
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

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	tests := []struct {
		name, in string
		want     time.Duration
	}{
		{"seconds", "120", 120 * time.Second},
		{"a fraction", "0.25", 250 * time.Millisecond},
		{"spaces around", " 5 ", 5 * time.Second},
		{"zero", "0", 0},
		{"date", "Fri, 02 Jan 2026 15:05:05 GMT", time.Minute},
		{"date in the past", "Fri, 02 Jan 2026 15:03:05 GMT", 0},
		{"date of RFC 850", "Friday, 02-Jan-26 15:05:05 GMT", time.Minute},
		{"date of asctime", "Fri Jan  2 15:05:05 2026", time.Minute},
		{"date far ahead", "Fri, 02 Jan 2099 15:05:05 GMT", 24 * time.Hour},
		{"negative", "-1", 0},
		{"huge", "1e12", 24 * time.Hour},
		{"over 64 bits", "99999999999999999999", 24 * time.Hour},
		{"over a float", "1e999", 24 * time.Hour},
		{"far below zero", "-1e999", 0},
		{"empty", "", 0},
		{"garbage", "soon", 0},
		{"two values", "1, 2", 0},
		{"infinity", "Inf", 0},
		{"not a number", "NaN", 0},
		{"duration", "5s", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := webhook.ParseRetryAfter(tc.in, now); got != tc.want {
				t.Errorf("%q gives %v, want %v", tc.in, got, tc.want)
			}
		})
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e12", "Inf", "NaN", "Fri, 02 Jan 2026 15:05:05 GMT", "0x1p4", "1e-400"} {
		f.Add(s, int64(1767366245))
	}
	f.Fuzz(func(t *testing.T, s string, now int64) {
		if d := webhook.ParseRetryAfter(s, time.Unix(now%(1<<36), 0)); d < 0 || d > 24*time.Hour {
			t.Fatalf("%q gives %v, want 0 to 24 h", s, d)
		}
	})
}

func TestWebhookTwoRetryAfterHeaders(t *testing.T) {
	r := sendVia(t, answer(503, "", "Retry-After", "3", "Retry-After", "900"))
	if r.RetryAfter != 3*time.Second {
		t.Errorf("RetryAfter %v, want the first, 3s", r.RetryAfter)
	}
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
			hook := sender(webhook.Config{}, g, server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs)
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
			if r.OK && (sni != host || proto != "HTTP/1.1") {
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
		"Timeout -1s":         {Timeout: -time.Second},
		"Timeout 1h":          {Timeout: time.Hour},
		"PermanentStatus 500": {PermanentStatus: []int{404, 500}},
		"PermanentStatus 429": {PermanentStatus: []int{429}},
		"PermanentStatus 302": {PermanentStatus: []int{302}},
		"UserAgent \"a":       {UserAgent: "a\r\nX: y"},
	} {
		if _, err := webhook.New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("error %v, want one that names %s and says what is allowed", err, want)
		}
	}
}
