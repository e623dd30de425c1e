// Package upstream holds the HTTP manners that platform adapters share: a
// User-Agent on every request, a cap on every body, and one mapping of status
// codes and rate-limit headers to the values of package fetcher.
//
//	c, err := upstream.New(upstream.Config{BaseURL: "https://mastodon.social"})
//	resp, err := c.Get(ctx, "/api/v1/accounts/lookup?acct=Gargron", nil)
//	// resp.Body is whole and at most MaxBody long; err is ErrNotFound,
//	// *RateLimitError, *StatusError … of package fetcher.
package upstream
