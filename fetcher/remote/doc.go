// Package remote reads accounts from another streamwatch service. With it, one service
// polls a platform, and other services read the posts from that service, each with its own
// stores, rules and customers.
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
// finds them. Each works alone. With both, timelines are read only to check the Stream and
// for posts that it does not push. Accounts have the same names as in the usernames of the
// other service's monitors.
//
// # What the other service needs
//
// A Fetcher needs a provider of timelines there (enginehttp.Providers.Timeline); otherwise
// every call returns fetcher.ErrUnsupported. A page is one GET of
// /users/{username}/latest_tweets. The key's owner pays one request for it, and the other
// service makes one call to its platform. If Options.CursorKey is set there, cursors stay
// valid after a restart of that service.
//
// A Stream needs streamwatch.Config.WebSocket there, and active monitors of the key's owner
// that together have all accounts in their usernames. The Stream reads the list of monitors
// with GET /stream/monitors when it starts, every ten minutes, and a minute after an account
// was added that no monitor has. An account without an active monitor is only polled. Posts
// found only by filter rules are not pushed. A connection is free, but a key may have only
// five.
//
// A key with the scope "read" is enough for both.
//
// # Posts
//
// Ids, texts, authors and times are those of the other service. A Stream has the time to the
// millisecond. A timeline has only created_at, in whole seconds; PublishedAt is more precise
// if the id is a snowflake of the same second (fetcher.SnowflakeTime). A Stream has the URL
// of each post; a timeline has no URLs and does not mark pinned posts.
//
// # Errors of a Fetcher
//
//	401                         fetcher.ErrUnauthorized
//	404                         fetcher.ErrNotFound; for a private or suspended account fetcher.ErrProtected
//	429                         *fetcher.RateLimitError: limit of the key
//	502 with Retry-After        *fetcher.RateLimitError: limit of the other service's platform
//	501                         fetcher.ErrUnsupported
//	402, 422, 5xx               *fetcher.StatusError with the service's message: no credits left, …
//
// # Positions
//
// A Stream resumes from the seq and epoch of the last frame that it received. The service
// first sends the posts that the owner's monitors have found since then, in order and each
// once. If it no longer has all of them, it sends a gap, which becomes a fetcher.SignalGap.
// It does not send edits or deletions of posts.
package remote
