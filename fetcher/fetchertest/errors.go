package fetchertest

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func errorCases() []testCase {
	return []testCase{
		{"an account that does not exist is ErrNotFound", func(t *test) {
			if t.up.Missing == "" {
				t.Skip("Upstream.Missing is empty: the platform does not tell")
			}
			t.refused(t.up.Missing, fetcher.ErrNotFound, fetcher.ErrProtected, fetcher.ErrUnauthorized)
		}},
		{"an account with private posts is ErrProtected", func(t *test) {
			if t.up.Protect == nil {
				t.Skip("Upstream.Protect is nil")
			}
			t.postMany(2)
			t.read(t.query(t.account))
			for _, account := range t.up.Accounts[:2] { // one was read before, the other was not
				t.up.Protect(account)
				t.refused(account, fetcher.ErrProtected, fetcher.ErrNotFound, fetcher.ErrUnauthorized)
			}
			t.read(t.query(t.up.Accounts[2]))
		}},
		{"refused credentials are ErrUnauthorized", func(t *test) {
			if t.up.Unauthorized == nil {
				t.Skip("Upstream.Unauthorized is nil")
			}
			t.up.Unauthorized()
			t.refused(t.account, fetcher.ErrUnauthorized, fetcher.ErrNotFound, fetcher.ErrProtected)
		}},
		{"a rate limit is a RateLimitError with the wait", func(t *test) {
			if t.up.Limit == nil {
				t.Skip("Upstream.Limit is nil")
			}
			const wait = 42 * time.Second
			t.read(t.query(t.account)) // the account is known
			t.up.Limit(wait)
			_, err := t.fetcher.Timeline(t.Context(), t.query(t.account))
			var limit *fetcher.RateLimitError
			if !errors.As(err, &limit) || t.lasting(err) {
				t.Errorf("a rate limit is the error %v: want a *fetcher.RateLimitError alone", err)
				return
			}
			if limit.RetryAfter < wait-2*time.Second || limit.RetryAfter > wait+2*time.Second {
				t.Errorf("RetryAfter is %s: want %s, as the platform asked", limit.RetryAfter, wait)
			}
		}},
		{"an answer that is a web page is ErrMalformed", func(t *test) {
			if t.up.Garble == nil {
				t.Skip("Upstream.Garble is nil")
			}
			t.postMany(2)
			t.read(t.query(t.account))
			t.up.Garble()
			t.refused(t.account, fetcher.ErrMalformed, fetcher.ErrNotFound, fetcher.ErrProtected, fetcher.ErrUnauthorized)
		}},
		{"a context that has ended is an error", func(t *test) {
			t.postMany(2)
			t.read(t.query(t.account))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			p, err := t.fetcher.Timeline(ctx, t.query(t.account))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Timeline with a context that has ended gives %d posts and the error %v: want %v", len(p.Tweets), err, context.Canceled)
			}
			if t.lasting(err) {
				t.Errorf("Timeline with a context that has ended says %v of the account", err)
			}
		}},
		{"a call returns when its context ends", func(t *test) {
			if t.up.Stall == nil {
				t.Skip("Upstream.Stall is nil")
			}
			t.up.Stall()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := t.fetcher.Timeline(ctx, t.query(t.account))
				ended <- err
			}()
			late := time.NewTimer(t.kit.patience)
			defer late.Stop()
			select {
			case err := <-ended:
				if err == nil || t.lasting(err) {
					t.Errorf("a call whose context ended gives the error %v: want one that says so", err)
				}
			case <-late.C:
				t.Errorf("a call has not returned %s after its context ended", t.kit.patience)
			}
		}},
	}
}

// refused checks that reading an account's timeline fails with want and with none of others.
func (t *test) refused(account string, want error, others ...error) {
	t.Helper()
	p, err := t.fetcher.Timeline(t.Context(), t.query(account))
	if !errors.Is(err, want) {
		t.Errorf("Timeline of %q gives %d posts and the error %v: want %v", account, len(p.Tweets), err, want)
		return
	}
	for _, other := range others {
		if errors.Is(err, other) {
			t.Errorf("Timeline of %q gives the error %v, which is %v, too: want %v alone", account, err, other, want)
		}
	}
}

// lasting reports whether an error concerns the account itself, so that a retry is useless.
func (t *test) lasting(err error) bool {
	return errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}
