package upstream

import (
	"cmp"
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

// Config configures a Client. A zero field means the default.
type Config struct {
	// BaseURL is the server's scheme and host, such as "https://mastodon.social". Required.
	BaseURL string
	// HTTP makes the requests. Defaults to a client with a timeout of 30 s that follows
	// redirects only within the same scheme and host. If Token is set, New uses a copy of the
	// given client that does not follow redirects to another scheme or host.
	HTTP *http.Client
	// UserAgent defaults to DefaultUserAgent.
	UserAgent string
	// Token is sent as a bearer token when set. It prints as ***.
	Token secret.Value
	// TokenHeader is the header that carries Token unchanged, such as "X-Api-Key".
	// If empty, Token is sent as "Authorization: Bearer <token>".
	TokenHeader string
	// MaxBody is the largest allowed size of a decompressed body, in bytes. Defaults to 8 MiB;
	// at most 1 GiB.
	MaxBody int64
	// Now is the clock for rate-limit resets. Defaults to time.Now.
	Now func() time.Time
}

// maxBodyLimit is the largest allowed Config.MaxBody, in bytes.
const maxBodyLimit = 1 << 30

// Client makes GET requests to one server. It is safe for concurrent use.
type Client struct {
	cfg  Config // Token is cleared because fmt prints unexported fields too
	base *url.URL
	// token returns Config.Token. A func keeps fmt from printing it.
	token func() string
}

// Response is a 2xx answer, or a 304 to a conditional request.
type Response struct {
	Body       []byte // valid until Release
	Header     http.Header
	RateLimit  fetcher.RateLimit
	ServerTime time.Time // from the Date header; zero if it is missing or invalid
	// NotModified reports whether the answer is a 304: the content has not changed since the
	// version in the request's conditional header. Body is then empty.
	NotModified bool

	print  fingerprint // of Body and Header; set once hashed is true
	hashed bool
	room   *[]byte // the buffer that holds Body; nil after Release
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

// notToken reports whether r is a character that a header name must not contain (RFC 9110,
// 5.6.2).
func notToken(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
}

// PlainURL returns the URL text without its user, password, query and fragment, which may be
// secret. Use it in errors and logs. It returns "***" if text is not a valid URL.
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

// pooled returns the transport shared by all clients without a Config.HTTP. It keeps up to 64
// idle connections per server, because an engine makes up to 64 concurrent calls by default.
// http.DefaultTransport keeps only two.
var pooled = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 1024, 64
	return t
})

// Host returns the server's host, with the port if BaseURL has one.
func (c *Client) Host() string { return c.base.Host }

// sameHost is an http.Client.CheckRedirect. It follows at most four redirects. It follows none
// to another scheme or host, because the token must not be sent there.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("upstream: more than 4 redirects")
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// KeepHome returns a copy of h that does not follow redirects to another scheme or host. For
// such a redirect, the copy returns the redirect itself as the answer. h.CheckRedirect decides
// about other redirects. Without KeepHome, net/http would send an Authorization header to
// subdomains and other ports, and a custom header with a key to any host.
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

// Get requests a path, which may have a query, from the server. It adds the fields of header,
// which may be nil, to the request; Accept defaults to application/json. A status other than
// 2xx is an error of package fetcher: ErrUnauthorized for 401, ErrProtected for 403,
// ErrNotFound for 404 and 410, *RateLimitError for 429, otherwise *StatusError. A body that is
// cut short or over Config.MaxBody is ErrMalformed. If header has If-None-Match or
// If-Modified-Since, a 304 is not an error: it sets NotModified. A path with the segment "." or
// "..", such as one with an account of that name, is ErrNotFound without a request.
func (c *Client) Get(ctx context.Context, pathAndQuery string, header http.Header) (*Response, error) {
	ref, err := url.Parse(pathAndQuery)
	if err != nil || ref.IsAbs() || ref.Host != "" {
		return nil, fmt.Errorf("upstream: path %q is not allowed: want a path on %s", pathAndQuery, c.base.Host)
	}
	for part := range strings.SplitSeq(ref.EscapedPath(), "/") {
		if part == "." || part == ".." { // RFC 3986 §5.2.4 would make it another path
			return nil, fmt.Errorf("upstream: path %q: %w", pathAndQuery, fetcher.ErrNotFound)
		}
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

// bodyError returns the error of Get for a body of which n bytes were read before err; err is
// nil at the end of the body. It returns nil if the whole body was read and is not too long.
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

// isTimeout reports whether err is a timeout. A body that arrives too slowly is not malformed;
// a body that is cut short is.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// AnswerError returns the error for an answer outside 2xx, as Client.Get describes. The
// error quotes the start of the body, with the token replaced by ***.
func AnswerError(resp *http.Response, now time.Time, token secret.Value) error {
	return answerError(resp, ParseRateLimit(resp.Header, now), now, string(token))
}

func answerError(resp *http.Response, rl fetcher.RateLimit, now time.Time, token string) error {
	detail := cmp.Or(errorDetail(resp.Body, token), resp.Status)
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

// errorDetail reads the start of an answer's body and shortens it for an error: see Detail.
func errorDetail(body io.Reader, token string) string {
	head, _ := io.ReadAll(io.LimitReader(body, int64(1024+len(token))))
	return Detail(string(head), secret.Value(token))
}

// Detail shortens a server's message for use in an error, to one line of at most 256 bytes of
// valid UTF-8 without control characters. It replaces the token by ***, because some servers
// repeat it.
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
