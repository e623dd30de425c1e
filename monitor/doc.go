// Package monitor manages stream monitors. A monitor is a named set of accounts. The engine
// detects and delivers their new posts.
//
// Monitor is the record, and Manager creates and changes records in a record.Store. A Manager
// checks every field before it changes anything. It passes each change to a Tracker, which puts the
// change into effect immediately:
//
//	created, err := manager.Create(ctx, monitor.CreateRequest{
//		Owner: "acme", Name: "space", Usernames: []string{"nasa", "esa"},
//		WebhookURL: "https://hooks.example.com/posts",
//	})
//	// created.WebhookSecret is shown only here when it was generated.
package monitor
