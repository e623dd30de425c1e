package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// DefaultUserAgent is sent when Config.UserAgent is empty.
const DefaultUserAgent = "streamwatch-webhook/1 (+https://github.com/streamwatch/streamwatch)"

// Config sets up a Sender. The zero value of each field means its
// default.
type Config struct {
	// Timeout bounds an attempt: name look-up, connection, TLS, request, status
	// and the bytes read of the body. Defaults to 10 s.
	Timeout time.Duration
	// UserAgent defaults to DefaultUserAgent.
	UserAgent string
	// AllowPrivate also allows http, any port and private networks, for tests and
	// for receivers in one's own network: see CheckURL and Guard. All other rules
	// hold.
	AllowPrivate bool
	// AllowNets allows only these private networks, by https and the usual ports:
	// see Guard.
	AllowNets []netip.Prefix
	// Now returns the time of the signatures. Defaults to time.Now.
	Now func() time.Time
	// Transport makes the requests in place of the sender's own HTTP/1.1 client: for
	// HTTP/2, a proxy, tracing or tests. Nil means the sender's client, which is faster.
	//
	// With any Transport, CheckURL checks the URL before each request, the body and the
	// headers are the same, redirects are not followed, Timeout and the bound of the
	// bytes read of an answer's body hold, and Retry-After counts.
	//
	// The Transport makes the connections, so it has to refuse names that resolve to
	// private addresses: let it connect by Guard.DialContext, and use no proxy that
	// connects elsewhere. It must end a round trip when the request's context ends, as
	// net/http demands. It bounds the answer's headers, and keeps and closes idle
	// connections: Close does not close them. An http.Transport adds an Accept-Encoding
	// header unless DisableCompression is set.
	Transport http.RoundTripper
	// Trace is for distributed tracing. It is called when an attempt begins, from many
	// goroutines, and returns the context of the request, the value of its traceparent
	// header (https://www.w3.org/TR/trace-context/), "" for none, and done, which is
	// called once with the outcome. An endpoint's own header of that name takes
	// precedence. A delivery that is refused before a request has no trace. Nil for none.
	Trace func(ctx context.Context, d *deliver.Delivery) (request context.Context, traceparent string, done func(deliver.Result))
}

// Bounds of one attempt's answer and of the connections kept.
const (
	maxHeaderBytes  = 16 << 10
	maxBodyRead     = 16 << 10
	maxRetryAfter   = 24 * time.Hour
	maxKeptRequest  = 64 << 10 // bytes of a request buffer that is used again
	idleTotal       = 1024
	idleTimeout     = 60 * time.Second
	connLife        = 5 * time.Minute // after it the name is resolved again
	defaultDeadline = 10 * time.Second
)

// Sender sends deliveries as signed POST requests. A Guard makes its connections, unless
// there is a Config.Transport; it follows no redirects and takes no proxy from the
// environment. It is safe for concurrent use.
type Sender struct {
	cfg       Config
	http      http.RoundTripper
	closeIdle func() // closes the idle connections that the sender has opened

	mu    sync.RWMutex
	known map[string]*prepared // by endpoint id
}

// New checks cfg and returns a sender. It makes no connection.
func New(cfg Config) (*Sender, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultDeadline
	}
	if cfg.Timeout < 0 || cfg.Timeout > 10*time.Minute {
		return nil, fmt.Errorf("webhook: Timeout %s is not allowed: want more than 0 and at most 10m, or 0 for 10s", cfg.Timeout)
	}
	if strings.ContainsFunc(cfg.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fmt.Errorf("webhook: UserAgent %q is not allowed: want printable ASCII", cfg.UserAgent)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Transport != nil {
		return &Sender{cfg: cfg, http: cfg.Transport, closeIdle: func() {}}, nil
	}
	own := newClient(&netguard.Guard{AllowPrivate: cfg.AllowPrivate, AllowNets: cfg.AllowNets})
	return &Sender{cfg: cfg, http: own, closeIdle: own.closeIdle}, nil
}

// Close closes idle connections. Attempts under way go on.
func (w *Sender) Close() { w.closeIdle() }

// Send makes one attempt. A 2xx status within the time is a success, even if reading the
// body fails; anything else is a failure, 410 a permanent one.
// Retry-After counts with 429 and 503.
func (w *Sender) Send(ctx context.Context, d *deliver.Delivery) (r deliver.Result) {
	p := w.prepare(&d.Endpoint)
	if p.refusal != "" {
		return deliver.Result{Permanent: true, Error: p.refusal}
	}
	if strings.ContainsFunc(d.ID, unicode.IsControl) { // the id is a header's value
		return deliver.Result{Permanent: true, Error: "delivery id not allowed"}
	}
	var traceparent string
	if w.cfg.Trace != nil {
		var done func(deliver.Result)
		ctx, traceparent, done = w.cfg.Trace(ctx, d)
		defer func() { done(r) }()
	}
	// The dispatcher's deadline is the same, unless the two are configured apart.
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > w.cfg.Timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.cfg.Timeout)
		defer cancel()
	}
	f := p.fields.Get().(*fields)
	if w.cfg.Transport == nil { // which may keep the header for longer than the round trip
		defer p.fields.Put(f)
	}
	// Without an http.Client, no redirect is followed and no cookie kept.
	resp, err := w.http.RoundTrip(p.request(ctx, d, w.cfg.Now(), traceparent, f))
	if err != nil {
		return deliver.Result{Error: sendError(err)}
	}
	if w.cfg.Transport != nil { // reading the body need not end with the context
		stop := context.AfterFunc(ctx, func() { resp.Body.Close() })
		defer func() {
			if stop() {
				resp.Body.Close()
			}
		}()
	}
	return result(resp)
}

// result judges an answer. It reads up to maxBodyRead bytes of the body; an error in reading
// it does not change the judgement.
func result(resp *http.Response) deliver.Result {
	r := deliver.Result{StatusCode: resp.StatusCode, OK: resp.StatusCode >= 200 && resp.StatusCode <= 299}
	if resp.Body != http.NoBody && resp.StatusCode != http.StatusSwitchingProtocols { // after 101 it is the bare connection
		head, _ := io.ReadAll(io.LimitReader(resp.Body, maxBodyRead))
		r.ResponsePreview = deliver.Preview(head)
	}
	switch {
	case r.OK:
		return r
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		r.Error = "redirect not followed"
	default:
		r.Error = "status " + strconv.Itoa(resp.StatusCode)
	}
	switch resp.StatusCode {
	case http.StatusGone:
		r.Permanent = true
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.RetryAfter = parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return r
}

// parseRetryAfter parses seconds, whole or with a fraction, or an HTTP date (RFC 9110,
// 10.2.3). It returns 0 for other text, a past date and a negative number, and at most
// maxRetryAfter.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	f, err := strconv.ParseFloat(s, 64)
	tooLarge := errors.Is(err, strconv.ErrRange) // f is then ±Inf
	switch {
	case err == nil && (math.IsNaN(f) || math.IsInf(f, 0)):
		return 0
	case err == nil || tooLarge:
		return time.Duration(min(max(f, 0), maxRetryAfter.Seconds()) * float64(time.Second))
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(now), 0), maxRetryAfter)
}

// sendError describes an error in a few words. The receiver's owner reads them, so they do
// not contain the text of an error that can name an address.
func sendError(err error) string {
	var (
		timeout   interface{ Timeout() bool }
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		op        *net.OpError
	)
	switch {
	case errors.Is(err, netguard.ErrAddressNotAllowed):
		return "address not allowed"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &timeout) && timeout.Timeout():
		return deliver.TimeoutError
	case errors.As(err, &dns) && dns.IsNotFound:
		return "host not found"
	case errors.As(err, &dns):
		return "host look-up failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "host unreachable"
	case errors.As(err, &authority):
		return "tls: certificate of an unknown authority"
	case errors.As(err, &hostname):
		return "tls: certificate of another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "tls: certificate expired or not yet valid"
	case errors.As(err, &invalid):
		return "tls: certificate not valid"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "tls: not a TLS server"
	case errors.As(err, &op) && op.Op == "remote error", strings.HasPrefix(err.Error(), "tls: "):
		return "tls: handshake failed"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed before an answer"
	}
	return "no valid answer"
}
