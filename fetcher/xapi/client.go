package xapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// client makes the API requests of all roles. It is safe for concurrent use.
type client struct {
	base    *url.URL
	http    *http.Client
	agent   string
	token   func() string // a func, because fmt would print a string
	maxBody int64
	now     func() time.Time
	ledger  *ledger
}

// defaultMaxBody is the default of Config.MaxBody, in bytes.
const defaultMaxBody = 8 << 20

// newClient checks the fields of cfg that a client uses, and returns a client.
func newClient(cfg *Config) (*client, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.Token == "" {
		return nil, errors.New("xapi: Config.Token is missing: want the bearer token of an app")
	}
	// Only the checks of upstream.New are used. Its client cannot make POST requests, and does
	// not parse X's problems.
	if _, err := upstream.New(upstream.Config{BaseURL: cfg.BaseURL, Token: cfg.Token, UserAgent: cfg.UserAgent, MaxBody: cfg.MaxBody}); err != nil {
		return nil, fmt.Errorf("xapi: %w", err)
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil {
		return nil, errors.New("xapi: Config.BaseURL is not a URL")
	}
	base.Path = ""
	c := &client{base: base, http: cfg.HTTP, agent: cfg.UserAgent, maxBody: cfg.MaxBody, now: cfg.Now, ledger: newLedger(maxBilled)}
	if c.http == nil {
		c.http = &http.Client{Timeout: 30 * time.Second}
	}
	c.http = upstream.KeepHome(c.http)
	if c.agent == "" {
		c.agent = upstream.DefaultUserAgent
	}
	if c.maxBody == 0 {
		c.maxBody = defaultMaxBody
	}
	if c.now == nil {
		c.now = time.Now
	}
	token := string(cfg.Token)
	c.token = func() string { return token }
	return c, nil
}

// answer is a 2xx answer, read to its end.
type answer struct {
	body []byte
	rate fetcher.RateLimit
	at   time.Time // from the Date header; zero if it is missing or invalid
}

// get requests a path, such as "/2/users/12/tweets", with an encoded query.
func (c *client) get(ctx context.Context, path, query string) (*answer, error) {
	return c.call(ctx, http.MethodGet, path, query, nil)
}

// call makes a request and reads the answer. It sends body as JSON unless it is nil. A
// status outside 2xx is an error: see answerError.
func (c *client) call(ctx context.Context, method, path, query string, body any) (*answer, error) {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, resp)
}

// read reads an answer to its end.
func (c *client) read(ctx context.Context, resp *http.Response) (*answer, error) {
	defer resp.Body.Close()
	a := &answer{rate: upstream.ParseRateLimit(resp.Header, c.now())}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.at = at
	}
	var err error
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, c.maxBody+1))
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, fmt.Errorf("cannot read the answer: %w", err)
	case err != nil:
		return nil, fmt.Errorf("%w: answer cut short: %w", fetcher.ErrMalformed, err)
	case int64(len(a.body)) > c.maxBody:
		return nil, fmt.Errorf("%w: answer over %d bytes", fetcher.ErrMalformed, c.maxBody)
	}
	return a, nil
}

// send makes a request and returns a 2xx answer with its body unread. The caller must
// close the body. A status outside 2xx is an error: see answerError.
func (c *client) send(ctx context.Context, method, path, query string, body any) (*http.Response, error) {
	// The callers check the ids in a path. This check finds an id that a caller did not check.
	ref, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/2/") || ref.Host != "" || ref.RawQuery != "" {
		return nil, fmt.Errorf("path %q is not allowed: want one that begins with /2/", path)
	}
	u := *c.base
	u.Path, u.RawPath, u.RawQuery = ref.Path, ref.RawPath, query
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Authorization", "Bearer "+c.token())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, answerError(resp, head, c.now(), secret.Value(c.token()))
}
