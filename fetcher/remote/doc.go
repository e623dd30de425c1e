// Package remote reads accounts from another streamwatch service, so that services can
// be chained: one polls a platform, and others take its posts from there, each with
// stores, rules and customers of its own.
//
// It speaks the /v1 endpoints that package enginehttp serves, with an API key of the
// other service:
//
//	const other = "https://streams.example.com"
//	timelines, err := remote.New(remote.Config{BaseURL: other, Key: key})
//	stream, err := remote.NewStream(remote.StreamConfig{BaseURL: other, Key: key})
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: timelines, Roles: fetcher.Roles{Stream: stream}})
//
// A Fetcher reads timelines on request; a Stream receives posts as the other service
// finds them. Either works alone; with both, timelines are only read to audit the
// Stream, and for what it does not bring. Accounts have the names that they have in the
// other service, in the usernames of its monitors.
//
// # What the other service needs
//
// For a Fetcher: a provider of timelines (enginehttp.Providers.Timeline), without which
// every call is fetcher.ErrUnsupported. A page is GET /users/{username}/latest_tweets. It
// costs the key's owner one request, and the other service one call to its platform.
// With an Options.CursorKey there, cursors stay valid after a restart of that service.
//
// For a Stream: streamwatch.Config.WebSocket there, and for each account an active
// monitor of the key's owner that has it in usernames; a monitor may have many. The Stream
// finds them by GET /stream/monitors, at its start, every ten minutes, and a minute
// after an account was added that none has: an account of no active monitor is left to
// polls. Posts that only filter rules find are not brought. A connection costs nothing
// by itself, and counts against the five that a key may have.
//
// A key of the scope "read" is enough for both, since nothing is changed.
//
// # Posts
//
// Ids, texts and authors are those of the other service. So is the time of a post,
// to the millisecond in a Stream. A timeline tells created_at to the second, which is
// what PublishedAt is then, unless the id is a snowflake of that second
// (fetcher.SnowflakeTime). A timeline has no address of a post, and does not mark pinned
// ones; a Stream has the address.
//
// # Errors of a Fetcher
//
//	401                         fetcher.ErrUnauthorized
//	404                         fetcher.ErrNotFound; for a private or suspended account fetcher.ErrProtected
//	429, 502 with Retry-After   *fetcher.RateLimitError: of the key, of the other service's platform
//	501                         fetcher.ErrUnsupported
//	402, 422, 5xx               *fetcher.StatusError with the service's words: no credits left, …
//
// # Positions
//
// A Stream resumes by the seq, and the epoch, of the other service's frames: what the
// monitors of the key's owner found meanwhile comes first, in order, each post once. When
// the service does not have all of it any more it sends a gap, which is a
// fetcher.SignalGap. It sends the posts that it finds, but neither edits nor deletions.
package remote
