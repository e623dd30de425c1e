// Package monitor holds stream monitors: named sets of accounts whose new
// posts are detected and delivered.
//
// Monitor is the record, Manager creates and changes records, and Store is the
// port a backend implements to keep them. A Manager checks every field before
// it changes anything and tells a Tracker of each change, so that it takes
// effect at once:
//
//	created, err := manager.Create(ctx, monitor.CreateRequest{
//		Owner: "acme", Name: "space", Usernames: []string{"nasa", "esa"},
//		WebhookURL: "https://hooks.example.com/posts",
//	})
//	// created.WebhookSecret is shown only here when it was generated.
package monitor
