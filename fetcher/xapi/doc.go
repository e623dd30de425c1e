// Package xapi reads accounts and searches of X through its API, version 2, and knows
// what that costs.
//
//	x, err := xapi.New(xapi.Config{Token: token})
//	page, err := x.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"})
//
// The token is the bearer token of an app: console.x.com makes one, and bills it by use.
// All roles here need that alone.
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
// An engine takes timelines, searches and the buckets of their limits from a Fetcher as
// it is. Probes cost extra, and streams keep a connection: they are set in Roles.
//
// # What it costs
//
// X charges for what it returns, by Prices: $0.005 for a post, $0.010 for an account, each
// once a UTC day however often it is returned. Calls that return nothing are free, and so
// are failed ones. Page.Billed and Probe.Billed say what an answer costs; the Fetcher
// remembers 500,000 charged things a day, and counts further ones as new. After a restart
// a post that is read again on the same day counts twice, and X charges less.
//
// 1,000 accounts that post once a day each, in US dollars:
//
//	                                                   at first      a day
//	timelines every 90 s                                  35.00       5.05
//	  of which look-ups of the accounts' ids              10.00          –
//	  and the newest 5 posts of each                      25.00          –
//	  and old posts that are read again after midnight        –       0.05
//	Activity, and an audit every 30 min                   35.00      10.20
//	UsersProbe, at any rate, in addition to timelines         –      10.00
//	ListProbe, 100 posts in a call, in addition               – up to 10.50
//	Expand.Authors, in addition                           10.00      10.00
//
// An account that an engine has read before costs nothing at a start: its first read has
// a lower bound as well. 1,000 accounts every 90 s use up the 10,000 calls in 15 minutes:
// then polls wait for the end of the window, up to a minute.
//
// detect.Config.Cost takes Prices and a limit for a day; an engine then says what was
// charged, and its plans what will be.
//
// A probe, which elsewhere saves calls, is dear here, and reading often is free. A
// source without credits answers 402: a *fetcher.RateLimitError with All and a Reason
// closes it for 15 minutes at a time. A usage cap asks for an hour, of which an engine
// waits 15 minutes before it asks again, and a stream all.
//
// # Reads with a lower bound
//
// TimelineQuery.Since says from when on posts are wanted. A Fetcher asks for those
// (start_time), or, where the newest post that an earlier read has shown lies after it and
// the caller knows that post, for what follows it (since_id). X's ids are not quite in the
// order in which posts become visible: every Config.AuditEvery, and after a start, an
// account is read by time from the audit before on, which finds those that came late. After
// a start that audit is not known, and was AuditEvery before Since, 30 minutes at most. It
// returns posts again that X has charged for that day; the first audit after midnight is
// charged for posts of the day before: 1/96 of a day's posts.
//
// A page that has no Next has everything back to Since, also when it is empty. Without
// Since a page has the newest posts, Config.FirstPage of them. X shows the newest 3,200 of
// an account.
//
// A search is bounded by an id that is made of Since, to the millisecond. It reaches 7
// days back.
//
// # Posts
//
// Fields and parameters have the names that X gave them in August 2026 (post.fields), and
// those of before (tweet.fields) on streams, which still take these. By today's names only
// Expand tells a search's authors, and which posts a post answers, quotes or reposts.
//
// PublishedAt comes from the id, to the millisecond. FullText is the whole text of a long
// post; a repost is "RT @handle: " and the original, whole with Expand.Posts, else cut at
// 140 characters. An edited post is a new post with an id of its own; timelines show the
// newest version alone, and a stream's EditTweetIDs has them all. What X does not tell
// stays empty, and so does a member of another type than X's documents say.
//
// Problems that X reports with or instead of posts never fail the source: an account
// that is gone is fetcher.ErrNotFound, a protected or suspended one ErrProtected.
//
// # Streams
//
// Two Streamers receive posts as they are published. X replays nothing to either without
// Enterprise access: what was posted while a connection was down is found by polls.
//
// An Activity, for fetcher.Roles.Stream, receives all posts and deletions of accounts
// within a second, at the price of a post each. It subscribes the app to two kinds of
// events of each account, post.create and post.delete; self-serve access has 1,500
// subscriptions: 750 accounts, or 1,500 without deletions (ActivityConfig.PostsOnly).
// Others are polled as without it. Protected accounts have no events.
//
// A FilteredStream, for fetcher.Roles.SearchStream, receives the posts that match queries,
// some seconds after their publication. It keeps a rule for each query that one can be
// made of, see rule/query's Translate; the others are searched for.
//
//	activity, err := xapi.NewActivity(xapi.ActivityConfig{Token: token})
//	stream, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{Token: token, Fetcher: x})
//	cfg.Fetcher, cfg.Roles = x, fetcher.Roles{Stream: activity, SearchStream: stream}
//
// Subscriptions and rules belong to the app, and stay. Each Streamer changes those alone
// that have its own tag, and reads hourly what there is; one that another program of the
// app has already is not made twice, and polled. Programs that share an app need a tag
// each, and one of them at most can have a FilteredStream: X lets an app have one
// connection of the filtered stream, and two of the Activity API.
//
// X refuses a connection when it still counts one that broke off without its knowledge.
// Such connections of the filtered stream are ended, and the log says so. X documents no
// way to end those of the Activity API: they are waited for.
//
// A Streamer that X refuses asks to be left alone for 5 s after an error and a minute
// after a rate limit, longer where X says so, or where credits or a cap are used up; the
// engine waits longer with each failure. A connection without a line for 45 s is
// given up: X sends an empty one every 20 s.
//
// # Tests
//
// Package xapitest is a fake of the API that bills. TestPrism has Prism check the requests
// against X's OpenAPI document, at the path in XAPI_OPENAPI; TestSimulator reads an account
// of a simulator, named by XAPI_URL and XAPI_ACCOUNT. Without these variables they are
// skipped and say so. X itself has not been asked by any test.
//
// The facts are those of docs.x.com (pricing, rate limits, timelines, search, errors,
// activity, filtered stream, connections, disconnections) of August 2026 and of its
// OpenAPI document, version 2.168. What the documents leave open is read leniently.
package xapi
