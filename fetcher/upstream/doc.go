// Package upstream is the HTTP client that platform adapters share. It sends a
// User-Agent with every request, bounds every body, and maps status codes and
// rate-limit headers to the values of package fetcher. Its Pages remember which pages
// have not changed.
//
//	c, err := upstream.New(upstream.Config{BaseURL: "https://mastodon.social"})
//	resp, err := c.Get(ctx, "/api/v1/accounts/lookup?acct=Gargron", nil)
//	// resp.Body is whole and at most MaxBody long; err is ErrNotFound,
//	// *RateLimitError, *StatusError … of package fetcher.
//
// # Rate limits
//
// The headers that the known platforms state their limits in are read without any
// setting. Config.Quota names those of another one, and how it writes the end of a
// window:
//
//	upstream.Quota{Remaining: "X-Quota-Left", Limit: "X-Quota", Reset: "X-Quota-Reset", Form: upstream.ResetSeconds}
//
// Response.RateLimit then goes to fetcher.Page.RateLimit, and an engine makes no
// call from the one that leaves none until the window ends.
//
// # Unchanged pages
//
// Most polls find nothing new. Pages keeps, per account, the validators that the
// server sent with the newest page and 128 bits of hash of it. A server that honours
// its validators (RFC 9110: ETag, else a Last-Modified that is at least five minutes
// old) answers 304 and sends nothing; elsewhere the hash spares the decoding, at a
// third of the cost of a scan for ids. A page with other counts (likes) is another
// page: it is decoded, which loses nothing but time.
//
// No post is lost by it: a version is only good for the caller that was given
// the posts and says so with TimelineQuery.Known, for one account and one
// request, and only while the record of it is there. A server's 304 is taken at
// its word, as its 200 is.
package upstream
