package websub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// Modes of a request, and of a hub's verification of it.
const (
	modeSubscribe   = "subscribe"
	modeUnsubscribe = "unsubscribe"
	modeDenied      = "denied"
)

const (
	requestTimeout = 30 * time.Second
	maxMoves       = 5       // from hub to hub
	maxAnswer      = 4 << 10 // bytes of a hub's answer that are read
)

// request is what a hub is asked for.
type request struct {
	mode, hub, topic, callback, secret string
	lease                              time.Duration
}

// answer is what came of a request.
type answer struct {
	err error // nil: the hub has accepted it, and verifies it
	// refused: the hub has said no, and will not verify. Without an answer it may.
	refused bool
	// retryAfter is how long a hub that is busy asked to wait, 0 if it did not.
	retryAfter time.Duration
	secured    bool // the hub that has accepted it was given the secret
}

// client asks hubs.
type client struct {
	http      *http.Client // follows no redirect
	userAgent string
	check     func(string) error
	now       func() time.Time
}

// newClient copies h. The check says whether an address may be asked at all.
func newClient(h *http.Client, userAgent string, check func(string) error, now func() time.Time) *client {
	own := *h
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{http: &own, userAgent: userAgent, check: check, now: now}
}

// send asks a hub, and those that it names instead by 307 or 308.
func (c *client) send(ctx context.Context, r request) answer {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	hub := r.hub
	for range maxMoves {
		if err := c.check(hub); err != nil {
			return answer{err: fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), err), refused: true}
		}
		a, next := c.post(ctx, hub, r)
		if next == "" {
			return a
		}
		hub = next
	}
	return answer{err: errors.New("websub: hub " + upstream.PlainURL(r.hub) + ": more than 5 redirects"), refused: true}
}

// post makes one request, whose answer may be that another hub is to be asked.
func (c *client) post(ctx context.Context, hub string, r request) (a answer, next string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hub, strings.NewReader(r.form(hub).Encode()))
	if err != nil {
		return answer{err: errors.New("websub: hub " + upstream.PlainURL(hub) + " cannot be asked"), refused: true}, ""
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", c.userAgent)
	req.Close = true // Superfeedr leaves requests on a kept connection without an answer
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{err: fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), bare(err))}, ""
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
		return answer{secured: secretFor(hub)}, ""
	case resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect:
		if next := resolve(resp.Header.Get("Location"), req.URL); next != "" && (secretFor(next) || !secretFor(hub)) {
			return answer{}, next
		}
	}
	r.hide(resp)
	a = answer{refused: true, err: fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), upstream.AnswerError(resp, c.now(), ""))}
	if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests {
		a.retryAfter, _ = upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), c.now())
	}
	return a, ""
}

// hide takes out of a hub's answer, which is quoted, what nobody else may know.
func (r *request) hide(resp *http.Response) {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	text := string(head)
	for _, s := range []string{r.callback, url.QueryEscape(r.callback), r.secret} {
		text = strings.ReplaceAll(text, s, "***")
	}
	resp.Body = io.NopCloser(strings.NewReader(text))
}

// form is the body. The secret goes to hubs by https alone.
func (r *request) form(hub string) url.Values {
	form := url.Values{
		"hub.callback": {r.callback},
		"hub.mode":     {r.mode},
		"hub.topic":    {r.topic},
		"hub.verify":   {"async"}, // of PubSubHubbub 0.3, which PuSHPress speaks; others ignore it
	}
	if r.mode == modeSubscribe {
		form.Set("hub.lease_seconds", strconv.FormatInt(int64(r.lease/time.Second), 10))
		if secretFor(hub) {
			form.Set("hub.secret", r.secret)
		}
	}
	return form
}

// secretFor reports whether a hub may be given a secret.
func secretFor(hub string) bool { return strings.HasPrefix(hub, "https://") }

// bare is an error without the address that net/http puts in front of it, which may have
// a password in its query.
func bare(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		return u.Err
	}
	return err
}
