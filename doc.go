// Package streamwatch is an embeddable stream-monitoring engine. It polls social accounts
// through a Fetcher that you plug in, or receives posts that a platform pushes. It records how
// late it found each new post. It delivers each post, signed, at least once to webhooks and Go
// handlers.
//
//	engine, err := streamwatch.New(streamwatch.Config{
//		Fetcher: source, // fetcher/mastodon, fetcher/bluesky or your own
//		OnEvent: func(ctx context.Context, e deliver.Event) error {
//			fmt.Println(e.AuthorUsername, e.TextPreview, e.Latency)
//			return nil
//		},
//	})
//	…
//	go engine.Run(ctx)
//	engine.Monitors().Create(ctx, monitor.CreateRequest{
//		Name: "space", Usernames: []string{"nasa", "esa"},
//	})
//
// New starts nothing. Run starts the engine and stops it when its context ends;
// Start and Shutdown do the same in two steps. Monitors are created, changed,
// paused and deleted through Engine.Monitors at any time; filter rules, which
// have a query in place of accounts, through Engine.Rules.
//
// The packages, from the bottom up: fetcher reads posts, monitor and rule say which posts are
// wanted, detect finds new ones, deliver sends them, and storage keeps everything. This package
// only wires them together.
//
// # Sources
//
// Config.Fetcher is one platform. Config.Sources are several, each with its own name, roles,
// budgets and backoff: one that is down does not delay the others. Monitors name their accounts
// "source:account", and rules name their platform. Events, Stats, Plan, metrics and log messages
// contain the name of the source.
//
// A platform's Roles are the calls that it offers in addition to timelines. A probe is one call
// that finds out which of many accounts have changed; these are polled immediately. A stream
// pushes posts as they are published. Probes and streams may miss posts, so polls go on as audits.
// Audits are rare while they find no missed posts. When they find some, or the stream breaks,
// polls return to the normal pace.
package streamwatch
