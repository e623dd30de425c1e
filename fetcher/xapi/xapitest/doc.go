// Package xapitest is a fake of X's API for tests. Its Server answers and bills as X's
// documents describe.
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
// It has the endpoints that package xapi uses:
//
//	GET /2/users/:id/tweets               since_id, start_time, pagination_token
//	GET /2/tweets/search/recent           the operators of rule/query, sort_order without effect
//	GET /2/lists/:id/tweets
//	GET /2/users, /2/users/by
//	GET /2/activity/stream and /2/tweets/search/stream, with subscriptions and rules
//	DELETE /2/connections/:kind
//
// Timelines show the newest 3,200 posts of an account, each in its newest version.
// Searches reach 7 days back. They leave out reposts and, without since_id, the last 30
// seconds. For protected and suspended accounts the status is 200 and the body has a
// problem, as with X. Each endpoint has a rate limit per 15 minutes: see DefaultLimits.
// The x-rate-limit headers report it. Fields and expansions have their names of August
// 2026; streams use the old names. Unknown ones are refused with status 400.
//
// Billed counts each post, account and event once a UTC day, including those in includes.
//
// Server.Instead sets another handler for all requests, for example a Problem such as
// CreditsUsedUp. StreamFaults sets the faults of streams.
//
// The clock is Config.Now. In a bubble of testing/synctest, virtual days pass quickly. A
// post's id contains its time, as X's do. Publish can make a post with a past time: a post
// that became visible late.
package xapitest
