// Package upstream is the HTTP client that platform adapters share. It sends a
// User-Agent with every request, limits the size of bodies, and converts status codes
// and rate-limit headers to values of package fetcher. Its Pages detect that a page has
// not changed.
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
// Most polls find nothing new. For each account, Pages keeps the newest page's
// validators and a hash of its body. The validator is the ETag or, without one, a
// Last-Modified that is at least five minutes old (RFC 9110). A server that supports
// validators answers 304 without a body. With other servers, an equal hash saves
// decoding the page; hashing costs a third of scanning for ids. A page in which only
// counts (such as likes) differ has changed and is decoded.
//
// No post is lost: a page is reported as Unchanged only to a caller that already has its
// posts and passes its version in TimelineQuery.Known. A server's 304 is trusted, as its
// 200 is.
package upstream
