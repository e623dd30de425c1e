// Package rule manages filter rules. A rule has a query, an interval or schedule for
// its polls, and an endpoint that receives the posts found. Package rule/query
// implements the language of the queries.
//
// Rule is the record, and Manager creates and changes rules in a record.Store. A Manager checks
// every field, including the query and the schedule, before it changes anything. It passes each
// change to a Tracker, which puts the change into effect immediately.
//
//	created, err := manager.Create(ctx, rule.CreateRequest{
//		Owner: "acme", Tag: "launches", Query: `"lift off" -is:retweet`,
//		Interval: 30 * time.Second, WebhookURL: "https://hooks.example.com/posts",
//	})
package rule
