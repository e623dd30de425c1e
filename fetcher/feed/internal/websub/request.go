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

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

const (
	requestTimeout = 30 * time.Second
	maxMoves       = 5       // from hub to hub
	maxAnswer      = 4 << 10 // bytes read of a hub's answer
)

// request asks a hub for a subscription.
type request struct {
	hub, topic, callback, secret string
	lease                        time.Duration // 0 for the hub's own choice
}

// send sends a request to a hub and follows the hub's redirects (307 or 308). If the error is
// nil, the hub has accepted the request and will verify it.
func (s *Subscriber) send(ctx context.Context, r request) (retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	hub := r.hub
	for range maxMoves {
		if err := s.cfg.Check(hub); err != nil {
			return 0, fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), err)
		}
		next := ""
		if next, retryAfter, err = s.post(ctx, hub, r); next == "" {
			return retryAfter, err
		}
		hub = next
	}
	return 0, fmt.Errorf("websub: hub %s: more than %d redirects", upstream.PlainURL(r.hub), maxMoves)
}

// post makes one HTTP request. If the hub redirects, next is the next hub.
func (s *Subscriber) post(ctx context.Context, hub string, r request) (next string, retryAfter time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hub, strings.NewReader(r.form(hub).Encode()))
	if err != nil {
		return "", 0, errors.New("websub: hub " + upstream.PlainURL(hub) + " cannot be asked")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", s.cfg.UserAgent)
	req.Close = true // Superfeedr does not answer requests on a reused connection
	resp, err := s.http.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), bare(err))
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if to, err := resp.Location(); err == nil && (secretFor(to.String()) || !secretFor(hub)) {
			return to.String(), 0, nil
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		retryAfter, _ = upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), s.cfg.Now())
	}
	if resp.StatusCode/100 == 2 {
		return "", 0, nil
	}
	r.hide(resp)
	return "", retryAfter, fmt.Errorf("websub: hub %s: %w", upstream.PlainURL(hub), upstream.AnswerError(resp, s.cfg.Now(), ""))
}

// hide replaces the callback and the secret in a hub's answer by ***, because the error quotes
// the answer.
func (r *request) hide(resp *http.Response) {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	text := string(head)
	for _, s := range []string{r.callback, url.QueryEscape(r.callback), r.secret} {
		text = strings.ReplaceAll(text, s, "***")
	}
	resp.Body = io.NopCloser(strings.NewReader(text))
}

// form returns the request's body. It contains the secret only if the hub uses https.
func (r *request) form(hub string) url.Values {
	form := url.Values{
		"hub.callback": {r.callback},
		"hub.mode":     {"subscribe"},
		"hub.topic":    {r.topic},
		"hub.verify":   {"async"}, // for PuSHPress, which implements PubSubHubbub 0.3; others ignore it
	}
	if r.lease > 0 {
		form.Set("hub.lease_seconds", strconv.FormatInt(int64(r.lease/time.Second), 10))
	}
	if secretFor(hub) {
		form.Set("hub.secret", r.secret)
	}
	return form
}

// refused reports whether a hub has refused a request for what it asks, by a status of 4xx.
func refused(err error) bool {
	var status *fetcher.StatusError
	return errors.As(err, &status) && status.Code/100 == 4
}

// secretFor reports whether a hub may be given a secret.
func secretFor(hub string) bool { return strings.HasPrefix(hub, "https://") }

// bare removes the URL that net/http puts in front of an error, because its query may have a
// password.
func bare(err error) error {
	if u := new(url.Error); errors.As(err, &u) {
		return u.Err
	}
	return err
}
