// Package xapitest is a fake of X's API for tests. Its Server answers and bills as described in
// X's documents.
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
// Timelines show the newest 3,200 posts of an account, each in its newest version. Searches
// return posts of the last 7 days, without reposts. A search without since_id leaves out the
// last 30 seconds. As at X, the answer for a protected or suspended account has status 200 and
// a problem in its body. Each endpoint has a rate limit per 15 minutes: see DefaultLimits. The
// x-rate-limit headers report it. Fields and expansions have their names of August 2026;
// streams use the old names. A request for unknown ones gets status 400. Texts have &, < and >
// escaped.
//
// Billed counts each post, account and event once per UTC day. This includes the records in the
// member includes.
//
// Server.Instead sets another handler for all requests, for example a Problem such as
// CreditsUsedUp. StreamFaults sets the faults of streams.
//
// The clock is Config.Now. In a bubble of testing/synctest, virtual days pass quickly. A post's
// id contains its time, as at X. Publish can make a post with a past time, to simulate a post
// that became visible late.
package xapitest
