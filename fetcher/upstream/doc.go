// Package upstream is the HTTP client that platform adapters share. It sends a User-Agent with
// every request, limits the size of bodies, and converts status codes and rate-limit headers to
// values of package fetcher. Type Pages detects that a page has not changed.
//
//	c, err := upstream.New(upstream.Config{BaseURL: "https://mastodon.social"})
//	resp, err := c.Get(ctx, "/api/v1/accounts/lookup?acct=Gargron", nil)
//	// resp.Body is complete, with at most MaxBody bytes. err is ErrNotFound,
//	// *RateLimitError, *StatusError … of package fetcher.
//
// # Rate limits
//
// The client reads the rate-limit headers in common use: see ParseRateLimit. An adapter
// copies Response.RateLimit to fetcher.Page.RateLimit. When a page reports that no calls
// remain, the engine makes no more calls until the window ends.
//
// # Unchanged pages
//
// Most polls find nothing new. For each account, Pages remembers the newest page's validator and
// a hash of its body. The validator is the ETag or, without one, a Last-Modified that is at least
// five minutes old. With a Last-Modified of just now the page has none (RFC 9110, 8.8.2.2). A
// server that supports validators answers 304 without a body. With other servers, a body with an equal hash need not be decoded. Hashing costs a third of scanning
// for ids. A page counts as changed, and is decoded, even if only counts such as likes differ.
//
// No post is lost: a page is Unchanged only for a caller that passes its version in
// TimelineQuery.Known and so already has its posts. Pages trusts a 304 as it trusts a 200.
package upstream
