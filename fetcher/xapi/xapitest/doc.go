// Package xapitest is a server that answers as X's API does, and bills as X says it does,
// for tests of programs that read X.
//
//	server := xapitest.New(xapitest.Config{})
//	server.AddAccount("ann")
//	server.Post("ann", "hello")
//	api := httptest.NewServer(server)
//
//	x, err := xapi.New(xapi.Config{BaseURL: api.URL, Token: "token"})
//	// …
//	server.Billed() // what X would have charged for
//
// It has the endpoints that package xapi uses, by the public documents of the API:
//
//	GET /2/users/:id/tweets               since_id, start_time, pagination_token
//	GET /2/tweets/search/recent           the operators of rule/query, sort_order without effect
//	GET /2/lists/:id/tweets
//	GET /2/users, /2/users/by
//	GET /2/activity/stream and /2/tweets/search/stream, with subscriptions and rules
//	DELETE /2/connections/:kind
//
// Timelines show the newest 3,200 posts of an account and the newest version of each.
// Searches reach 7 days back, leave out reposts and, without since_id, the last 30
// seconds. Protected and suspended accounts are problems in an answer of status
// 200, as with X. Each endpoint has a limit in windows of 15 minutes, told by the
// x-rate-limit headers, see DefaultLimits. Fields and expansions are those of an app, by
// their names since August 2026; streams have those of before. Others are refused with
// status 400.
//
// Billed counts each post, account and event once a UTC day, those in includes as well.
//
// Server.Instead has all requests answered by something else: a Problem such as
// CreditsUsedUp, or any handler. Streams have faults of their own: see StreamFaults.
//
// The clock is Config.Now: in a bubble of testing/synctest a day takes as long as its
// requests. Ids of posts have their time, as X's do; Publish makes a post with a time of
// the past, which is visible late.
package xapitest
