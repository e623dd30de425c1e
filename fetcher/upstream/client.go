package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

// DefaultUserAgent is sent when Config.UserAgent is empty.
const DefaultUserAgent = "streamwatch/1 (+https://github.com/streamwatch/streamwatch)"

// Config sets up a Client. The zero value of each field means its default.
type Config struct {
	// BaseURL is the server, scheme and host, such as "https://mastodon.social".
	// Required.
	BaseURL string
	// HTTP makes the requests. Defaults to a client with a timeout of 30 s that
	// follows redirects within the same host only. When Token is set, a copy of the
	// given client is used, which does not follow redirects to another host either.
	HTTP *http.Client
	// UserAgent defaults to DefaultUserAgent.
	UserAgent string
	// Token is sent as a bearer token when set. It prints as ***.
	Token secret.Value
	// TokenHeader is a header in which Token is sent as it is, such as "X-Api-Key".
	// Defaults to none: Token is a bearer token in Authorization.
	TokenHeader string
	// MaxBody caps a decompressed body, in bytes. Defaults to 8 MiB, at most
	// 1 GiB.
	MaxBody int64
	// Now is the clock for rate-limit resets. Defaults to time.Now.
	Now func() time.Time
}

// maxBodyLimit bounds Config.MaxBody, in bytes.
const maxBodyLimit = 1 << 30

// Client makes GET requests to one server. It is safe for concurrent use.
type Client struct {
	cfg  Config // without the token, as fmt prints unexported fields, too
	base *url.URL
	// token returns the token, "" for none.
	token func() string
}

// Response is a 2xx answer, or a 304 to a request with a condition.
type Response struct {
	Body       []byte // valid until Release
	Header     http.Header
	RateLimit  fetcher.RateLimit
	ServerTime time.Time // of the Date header, zero if missing
	// NotModified says that the answer is a 304: the server still has what the
	// condition names. Body is empty.
	NotModified bool

	print  fingerprint // of Body and Header, if hashed
	hashed bool
	room   *[]byte // the memory of Body, nil after Release
}

// New checks cfg and returns a client. It makes no request.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, errors.New("upstream: BaseURL is not a URL: want http:// or https:// and a host")
	}
	if base.User != nil {
		return nil, fmt.Errorf("upstream: BaseURL %q is not allowed: want no user or password; use Token", plainURL(base))
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("upstream: BaseURL %q is not allowed: want http:// or https:// and a host", plainURL(base))
	}
	if strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("upstream: BaseURL %q is not allowed: want a scheme and a host, without a path or query", plainURL(base))
	}
	if cfg.MaxBody < 0 || cfg.MaxBody > maxBodyLimit {
		return nil, fmt.Errorf("upstream: MaxBody %d is not allowed: want 0 (8 MiB) or 1 to %d bytes", cfg.MaxBody, maxBodyLimit)
	}
	if strings.ContainsAny(string(cfg.Token), "\r\n\x00") {
		return nil, errors.New("upstream: Token *** is not allowed: want no CR, LF or NUL")
	}
	if strings.ContainsFunc(cfg.TokenHeader, notToken) {
		return nil, fmt.Errorf("upstream: TokenHeader %q is not allowed: want the name of a header", cfg.TokenHeader)
	}
	if strings.ContainsAny(cfg.UserAgent, "\r\n\x00") {
		return nil, fmt.Errorf("upstream: UserAgent %q is not allowed: want no CR, LF or NUL", cfg.UserAgent)
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 8 << 20
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Timeout: 30 * time.Second, CheckRedirect: sameHost, Transport: pooled()}
	} else if cfg.Token != "" {
		cfg.HTTP = KeepHome(cfg.HTTP)
	}
	token := string(cfg.Token)
	cfg.Token = ""
	return &Client{cfg: cfg, base: base, token: func() string { return token }}, nil
}

// notToken reports whether a header's name cannot have a character (RFC 9110,
// section 5.6.2).
func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}

// PlainURL returns a URL without the parts that may be secret (user, password, query and
// fragment), for an error or a log. It returns "***" for one that cannot be parsed.
func PlainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	return plainURL(u)
}

func plainURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String()
}

// pooled is the transport of all clients without a Config.HTTP. It keeps as many idle
// connections to a server as an engine has fetch slots by default; the standard transport
// keeps two, and dials again for the rest.
var pooled = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 64
	return t
})

// Host is the server's host, with the port when one was given.
func (c *Client) Host() string { return c.base.Host }

// sameHost is a CheckRedirect that does not follow a redirect to another server, so that
// a token is not sent there.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("upstream: more than 5 redirects")
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// KeepHome returns a copy of a client that does not follow redirects to another host:
// the answer is then the redirect. For other redirects the client's own CheckRedirect
// decides. net/http itself sends the Authorization header on to a subdomain or another
// port, and other headers with a key to any host.
func KeepHome(h *http.Client) *http.Client {
	guarded, own := *h, h.CheckRedirect
	guarded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if err := sameHost(req, via); err != nil || own == nil {
			return err
		}
		return own(req, via)
	}
	return &guarded
}

// Get requests a path with its query on the server. Any status but 2xx is an error of
// package fetcher: 401 ErrUnauthorized, 403 ErrProtected, 404 and 410 ErrNotFound, 429
// *RateLimitError, the rest *StatusError. A body over Config.MaxBody or cut short is
// ErrMalformed; a timeout is none of these. The header may be nil; its fields are
// added to the request, and may replace Accept, which is application/json. If it has
// If-None-Match or If-Modified-Since, a 304 is no error either: see NotModified.
func (c *Client) Get(ctx context.Context, pathAndQuery string, header http.Header) (*Response, error) {
	ref, err := url.Parse(pathAndQuery)
	if err != nil || ref.IsAbs() || ref.Host != "" {
		return nil, fmt.Errorf("upstream: path %q is not allowed: want a path on %s", pathAndQuery, c.base.Host)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.ResolveReference(ref).String(), nil)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	for k, vs := range header {
		req.Header[http.CanonicalHeaderKey(k)] = vs
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	switch token := c.token(); {
	case token == "":
	case c.cfg.TokenHeader != "":
		req.Header.Set(c.cfg.TokenHeader, token)
	default:
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	defer resp.Body.Close()
	now := c.cfg.Now()
	out := &Response{Header: resp.Header, RateLimit: ParseRateLimit(resp.Header, now)}
	if d, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out.ServerTime = d
	}
	if resp.StatusCode == http.StatusNotModified {
		if req.Header.Get("If-None-Match") == "" && req.Header.Get("If-Modified-Since") == "" {
			return nil, &fetcher.StatusError{Code: resp.StatusCode, Detail: "not modified, but the request had no condition"}
		}
		out.NotModified = true
		return out, nil
	}
	if resp.StatusCode/100 != 2 {
		return nil, answerError(resp, out.RateLimit, now, c.token())
	}
	err = out.Fill(resp.Body, resp.ContentLength, c.cfg.MaxBody)
	if err = c.bodyError(ctx, int64(len(out.Body)), err); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// bodyError returns the error for a body of which n bytes were read until err.
func (c *Client) bodyError(ctx context.Context, n int64, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("upstream: %w", ctx.Err())
	case isTimeout(err):
		return fmt.Errorf("upstream: reading the body: %w", err)
	case err != nil:
		return fmt.Errorf("upstream: %w: body cut short: %w", fetcher.ErrMalformed, err)
	case n > c.cfg.MaxBody:
		return fmt.Errorf("upstream: %w: body over %d bytes", fetcher.ErrMalformed, c.cfg.MaxBody)
	}
	return nil
}

// isTimeout reports whether an error is a timeout: a slow server does not make a body
// malformed, one that cuts it short does.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// AnswerError returns the error for an answer outside 2xx, as Client.Get describes. What
// the error quotes of the body does not have the token.
func AnswerError(resp *http.Response, now time.Time, token secret.Value) error {
	return answerError(resp, ParseRateLimit(resp.Header, now), now, string(token))
}

func answerError(resp *http.Response, rl fetcher.RateLimit, now time.Time, token string) error {
	detail := errorDetail(resp.Body, token)
	after, _ := ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return fmt.Errorf("upstream: %w: %s", fetcher.ErrUnauthorized, detail)
	case http.StatusForbidden:
		return fmt.Errorf("upstream: %w: %s", fetcher.ErrProtected, detail)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("upstream: %w: %s", fetcher.ErrNotFound, detail)
	case http.StatusTooManyRequests:
		if after == 0 && rl.Reset.After(now) {
			after = rl.Reset.Sub(now)
		}
		return &fetcher.RateLimitError{RetryAfter: after}
	}
	return &fetcher.StatusError{Code: resp.StatusCode, RetryAfter: after, Detail: detail}
}

// errorDetail returns what an error quotes of the answer's body.
func errorDetail(body io.Reader, token string) string {
	head, _ := io.ReadAll(io.LimitReader(body, int64(1024+len(token))))
	return Detail(string(head), secret.Value(token))
}

// Detail returns what an error quotes of a server's message: one line of at most 256
// bytes of valid UTF-8 without control characters, and without the token, which some
// servers repeat.
func Detail(text string, token secret.Value) string {
	text = text[:min(len(text), 1024+len(token))]
	if token != "" {
		text = strings.ReplaceAll(text, string(token), secret.Redacted)
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= 256 {
		return text
	}
	cut := 256
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
