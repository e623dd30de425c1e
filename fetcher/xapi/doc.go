// Package xapi reads accounts and searches of X through its API, version 2.
//
//	x, err := xapi.New(xapi.Config{Token: token})
//	page, err := x.Timeline(ctx, fetcher.TimelineQuery{Username: "nasa"})
//
// # Streams
//
// Two Streamers receive posts as they are published. X replays nothing to either without
// Enterprise access: what was posted while a connection was down is found by polls.
//
// An Activity, for fetcher.Roles.Stream, brings all posts and deletions of accounts
// within a second, at the price of a post each. It subscribes the app to two kinds of
// events of each account, post.create and post.delete; self-serve access has 1,500
// subscriptions, so that 750 accounts have room, or 1,500 without deletions
// (ActivityConfig.PostsOnly). Others are polled as without it. Protected accounts have no
// events.
//
// A FilteredStream, for fetcher.Roles.SearchStream, brings the posts that match queries,
// some seconds after their publication. It keeps a rule for each query that one can be
// made of, see rule/query's Translate; the others are searched for.
//
//	activity, err := xapi.NewActivity(xapi.ActivityConfig{Token: token})
//	stream, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{Token: token, Fetcher: x})
//	cfg.Fetcher, cfg.Roles = x, fetcher.Roles{Stream: activity, SearchStream: stream}
//
// Subscriptions and rules belong to the app, and last. Each Streamer changes those alone
// whose tag is its own, and reads hourly what there is. Programs that share an app need a
// tag each, and one of them at most can have a FilteredStream: X lets an app have one
// connection of the filtered stream, and two of the Activity API.
//
// X refuses a connection when it still counts one that broke off without its knowledge.
// Such connections of the filtered stream are ended, and the log says so. For those of
// the Activity API X documents no way to end them: they are waited for.
//
// A Streamer that X refuses asks to be left alone as X wants: 5 s after an error, doubling
// to 320 s; a minute after a rate limit, doubling to 16; longer where X says so, or where
// credits or a cap are used up. A connection that brings no line for 45 s is given up:
// X sends an empty one every 20 s.
//
// A post that was edited is another post with an id of its own, on streams as on
// timelines; Tweet.EditTweetIDs has the ids of the versions.
//
// The facts about streams are those of docs.x.com/x-api/activity, /x-api/posts/filtered-stream,
// /x-api/connections and /x-api/fundamentals/handling-disconnections of August 2026. X
// itself was not reached: what its documents leave open is read leniently.
package xapi
