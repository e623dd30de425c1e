// Package upstream is the HTTP client that platform adapters share. It sends a
// User-Agent with every request, bounds every body, and maps status codes and
// rate-limit headers to the values of package fetcher. Its Pages tell an adapter when
// a page has not changed.
//
//	c, err := upstream.New(upstream.Config{BaseURL: "https://mastodon.social"})
//	resp, err := c.Get(ctx, "/api/v1/accounts/lookup?acct=Gargron", nil)
//	// resp.Body is whole and at most MaxBody long; err is ErrNotFound,
//	// *RateLimitError, *StatusError … of package fetcher.
//
// # Rate limits
//
// The rate-limit headers in common use are read: see ParseRateLimit. An adapter copies
// Response.RateLimit to fetcher.Page.RateLimit. After a page that leaves no calls, the
// engine makes none until the window ends.
//
// # Unchanged pages
//
// Most polls find nothing new. Pages keeps, per account, the validators that the server
// sent with the newest page and a hash of it. A server that honours its validators (RFC
// 9110: ETag, else a Last-Modified that is at least five minutes old) answers 304 without
// a body. With other servers the hash saves the decoding, at a third of the cost of a
// scan for ids. A page in which only counts (likes) are different has
// changed: it is decoded, which costs nothing but time.
//
// No post is lost by this: a page is only Unchanged for a caller that was given its
// posts and says so with TimelineQuery.Known, for the same account and request, and
// while it is remembered. A server's 304 is trusted, as its 200 is.
package upstream
