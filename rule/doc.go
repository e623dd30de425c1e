// Package rule keeps filter rules. A rule is a query, how often it is polled, and
// where the posts that it finds are sent. Package rule/query is the language of
// the queries.
//
// A Rule is the stored record, and Store the port a backend implements to keep
// it. A Manager creates and changes rules: it checks every field, the query and
// the schedule included, before it changes anything, and tells a Tracker of each
// change, so that it takes effect at once.
//
//	created, err := manager.Create(ctx, rule.CreateRequest{
//		Owner: "acme", Tag: "launches", Query: `"lift off" -is:retweet`,
//		Interval: 30 * time.Second, WebhookURL: "https://hooks.example.com/posts",
//	})
package rule
