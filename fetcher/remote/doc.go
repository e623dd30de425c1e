// Package remote reads accounts from another streamwatch service. One service polls a platform.
// Other services, each with its own stores, rules and customers, read the posts from that
// service.
//
// It uses the /v1 endpoints of package enginehttp, with an API key of the other service:
//
//	const other = "https://streams.example.com"
//	timelines, err := remote.New(remote.Config{BaseURL: other, Key: key})
//	stream, err := remote.NewStream(remote.StreamConfig{BaseURL: other, Key: key})
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: timelines, Roles: fetcher.Roles{Stream: stream}})
//
// A Fetcher reads timelines on request; a Stream receives posts as the other service finds
// them. Each works alone. With both, the engine reads timelines only to check the Stream and to
// find posts that the Stream does not push. Accounts have the same names as in the usernames of
// the other service's monitors. If its sources have names, that is "source:account", and a chain
// of services has "source:source:account". The events' Platform then ends with these sources, so
// Platform + ":" + AuthorUsername is the account. A CheckAccount for the names is CheckAccount.
//
// # What the other service needs
//
// A Fetcher needs enginehttp.Providers.Timeline in the other service; otherwise every call
// returns fetcher.ErrUnsupported. A page is one GET of /users/{username}/latest_tweets. The key's
// owner pays one request for each page, and the other service makes one call to its platform. If
// the other service sets Options.CursorKey, cursors stay valid when that service restarts.
//
// A Stream needs streamwatch.Config.WebSocket in the other service. Each account must be in the
// usernames of an active monitor of the key's owner. The Stream reads the list of monitors with
// GET /stream/monitors when it starts and every ten minutes. If an account without a monitor is
// added, it reads the list again a minute later. The engine only polls an account without an
// active monitor. Posts found only by filter rules are not pushed. A connection is free, but a
// key may have only five.
//
// A key with the scope "read" is enough for both.
//
// # Posts
//
// Ids, texts, authors and times are those of the other service. A Stream has the time to the
// millisecond. A timeline has only created_at, in whole seconds; PublishedAt is more precise
// if the id is a snowflake of the same second (fetcher.SnowflakeTime). A Stream has the URL
// of each post; a timeline has only those of feeds' entries, and does not mark pinned posts.
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
// A Stream resumes from the seq and epoch of the last frame that it received. The service first
// sends the posts that the owner's monitors have found since then, in order and without
// duplicates. If it no longer has all of them, it sends a gap, and the Stream emits a
// fetcher.SignalGap. It does not send edits or deletions of posts.
package remote
