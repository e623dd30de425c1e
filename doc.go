// Package streamwatch is an embeddable stream-monitoring engine: it polls social
// accounts through a Fetcher that you plug in, takes what a platform pushes, finds new
// posts, records how late it found them, and delivers each one, signed, at least once to
// webhooks and Go handlers.
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
// The parts, from the bottom up: fetcher (what is read), monitor and rule (what
// is wanted), detect (what is new), deliver (who gets it), storage (what is
// kept). This package only wires them.
//
// # Sources
//
// Config.Fetcher is one platform. Config.Sources are several, each with a name, roles,
// budgets and a backoff of its own: one that is down holds up no other. Monitors name
// their accounts "source:account", rules name their platform, and the name is in events,
// Stats, Plan, metrics and log messages.
//
// A platform's Roles say what it offers beside timelines. A probe tells with one call
// which of many accounts have changed, and these are polled at once. A stream pushes
// posts as they are made. Neither is believed blindly: polls go on as audits, seldom
// while they find nothing that was missed, and at the normal pace when they do, or
// when the stream breaks.
package streamwatch
