// Package xapi reads accounts and searches of X through its API, version 2, and counts
// what X charges for them.
//
//	x, err := xapi.New(xapi.Config{Token: token})
//	page, err := x.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"})
//
// The token is the bearer token of an app. Create one at console.x.com; X bills the app
// by use. All roles here need only this token.
//
// # Roles
//
//	Fetcher         timelines, GET /2/users/:id/tweets             10,000 calls in 15 min
//	                searches, GET /2/tweets/search/recent             450
//	                look-ups, GET /2/users/by, 100 accounts each      300
//	UsersProbe      post counts of 100 accounts, GET /2/users         300
//	ListProbe       a list's newest posts, GET /2/lists/:id/tweets    900
//	Activity        posts and deletions of accounts, pushed
//	FilteredStream  posts that match queries, pushed
//
// A Fetcher alone gives an engine timelines, searches and the buckets of their limits.
// Probes cost extra, and streams keep a connection open: set them in Roles.
//
// # What it costs
//
// X charges for each post ($0.005) and each account ($0.010) that it returns. It charges for
// the same one only once per UTC day: see Prices. Empty and failed answers are free.
// Page.Billed and Probe.Billed count the items charged for in an answer. The Fetcher remembers
// up to 500,000 charged ids per day and counts all others as new. A restart loses these ids: a
// post read again that day is counted twice, but X charges for it once.
//
// The cost of 1,000 accounts with one post a day each, in US dollars:
//
//	                                                    at start    per day
//	timelines every 90 s                                  35.00       5.05
//	  including look-ups of the accounts' ids             10.00          –
//	  and the newest 5 posts of each                      25.00          –
//	  and old posts read again after midnight                 –       0.05
//	Activity, and an audit every 30 min                   35.00      10.20
//	UsersProbe, at any rate, in addition to timelines         –      10.00
//	ListProbe, 100 posts in a call, in addition               – up to 10.50
//	Expand.Authors, in addition                           10.00      10.00
//
// At a restart, an account that an engine has read before costs nothing, because its first read
// has a lower bound too. 1,000 accounts polled every 90 s use up the 10,000 calls per 15
// minutes. Polls then wait up to a minute for the end of the window.
//
// Set detect.Config.Cost to Prices and a daily limit. The engine then reports past charges, and
// its plans predict future charges.
//
// On other platforms probes save calls. On X probes are expensive, and polls that find nothing
// are free. Without credits, X answers 402. The Fetcher returns a *fetcher.RateLimitError with
// All and a Reason, and the source pauses for 15 minutes. A usage cap sets RetryAfter to an
// hour. A stream then waits an hour; an engine's polls wait 15 minutes.
//
// # Reads with a lower bound
//
// TimelineQuery.Since is the publication time of the oldest post wanted. A Fetcher usually asks
// for posts after the newest post that it has read (since_id). It does so if that post is later
// than Since and the caller's Seen reports it. Otherwise the Fetcher asks for posts since Since
// (start_time).
//
// Some posts become visible late, after posts with greater ids. To find them, an audit reads
// the account by time, every Config.AuditEvery and after a start. The audit starts at the
// previous audit's Since. After a start that time is unknown, and the audit starts AuditEvery,
// but at most 30 minutes, before Since. Posts for which X has already charged that day are
// free. The first audit after midnight is charged for posts of the day before: 1/96 of a day's
// posts if AuditEvery is 15 minutes.
//
// A page without Next is complete: there are no other posts since Since. If Since is zero, a page
// has the Config.FirstPage newest posts. X shows at most the newest 3,200 posts of an account.
//
// A search has an id as its lower bound, computed from Since to the millisecond. A search
// reaches back at most 7 days.
//
// # Posts
//
// Requests use the names of fields and parameters that X introduced in August 2026
// (post.fields). Streams still use the old names (tweet.fields). With the new names, X names
// the authors of found posts only with Expand.Authors. It sends the ids of the posts that a
// post answers, quotes or reposts only with Expand.Posts.
//
// X escapes &, < and > in texts and names, once; a Tweet has them unescaped. Indices are offsets
// in its text. PublishedAt comes from the id, to the millisecond. FullText is the whole text of a long
// post. A repost's text is "RT @handle: " and the original text, which is cut at 140
// characters without Expand.Posts. An edited post is a new post with its own id. Timelines
// show only the newest version; on a stream, EditTweetIDs has the ids of all versions.
// Fields that X does not send, or sends with an undocumented type, stay empty.
//
// A missing account gives fetcher.ErrNotFound. A protected or suspended account gives
// fetcher.ErrProtected. Neither stops the polls of other accounts.
//
// # Streams
//
// Two Streamers receive posts as they are published. Without Enterprise access X does not send
// the posts made while a connection was down; polls find them.
//
// An Activity, for fetcher.Roles.Stream, receives all posts and deletions of accounts within a
// second. Each event costs as much as a post. The Activity subscribes the app to two kinds of
// events for each account, post.create and post.delete. Self-serve access allows 1,500
// subscriptions: 750 accounts, or 1,500 without deletions (ActivityConfig.PostsOnly). The
// engine polls other accounts as usual. Protected accounts have no events.
//
// A FilteredStream, for fetcher.Roles.SearchStream, receives the posts that match queries,
// some seconds after their publication. It creates a rule for each query that can be
// translated (see Translate of rule/query). The engine searches for the other queries.
//
//	activity, err := xapi.NewActivity(xapi.ActivityConfig{Token: token})
//	stream, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{Token: token, Fetcher: x})
//	cfg.Fetcher, cfg.Roles = x, fetcher.Roles{Stream: activity, SearchStream: stream}
//
// Subscriptions and rules belong to the app and remain after the program ends. Each Streamer
// changes only those with its own tag, and lists all of them every hour. If another program
// already has the same subscription or rule, X refuses a second one, and the engine polls the
// account or query. Programs that share an app need different tags. Only one program of an app
// can use a FilteredStream: X allows one connection of the filtered stream and two of the
// Activity API.
//
// After a connection has broken, X may still count it as open and refuse a new one. A
// FilteredStream then ends the app's connections and logs a message. X documents no way to end
// connections of the Activity API, so an Activity tries again until X stops counting the broken
// one.
//
// When X refuses a connection, the error's RetryAfter is at least 5 s, and at least one minute
// after a rate limit. RetryAfter is longer if X asks for a longer wait, or if credits or a cap
// are used up. The engine waits longer with each failure. X sends an empty line every 20 s; a
// Streamer closes a connection after 45 s without a line.
//
// # Tests
//
// Package xapitest is a fake of the API, including its billing. TestPrism uses Prism to check
// the requests against X's OpenAPI document, at the path in XAPI_OPENAPI. TestSimulator reads
// the account XAPI_ACCOUNT of a simulator at XAPI_URL. Without these variables both tests are
// skipped. No test uses X itself.
//
// This package follows docs.x.com of August 2026 (pricing, rate limits, timelines, search,
// errors, activity, filtered stream, connections, disconnections) and X's OpenAPI document,
// version 2.168. Where these are unclear, the package accepts more than one form of an answer.
package xapi
