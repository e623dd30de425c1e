// Package enginetest holds what a test of a stream-monitoring service needs at
// both ends: a fake platform to poll and a webhook receiver to deliver to, and
// a check that compares the two. It does not import package testing: demonstrations
// can use it as well. The conformance suites are elsewhere:
// storage/storetest for stores, fetcher/fetchertest for platforms.
//
// # A platform that can be trusted to misbehave
//
// A Platform has accounts that post on demand, or at random:
//
//	p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
//	p.Post("nasa", "Lift-off")
//	go p.Run(ctx, enginetest.PostRate{PerSecond: 10, Total: 500})
//
// It is a fetcher.Fetcher, to be polled directly:
//
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: p})
//
// and, by Platform.Handler, a server that speaks the part of the Mastodon REST
// API that reading timelines takes, for a whole client to be tested over HTTP,
// one in another language included:
//
//	http.ListenAndServe("localhost:8080", p.Handler())
//	// curl 'localhost:8080/api/v1/accounts/lookup?acct=nasa'
//
// It is a fetcher.Searcher, too: a query is answered as package rule reads it. Its
// Streamer pushes posts, edits and deletions as they become visible, and has the
// faults of real streams, by chance (StreamFaults) or at a moment that a test
// chooses:
//
//	stream := p.Streamer(enginetest.StreamConfig{Faults: enginetest.StreamFaults{Drop: 0.01}})
//	stream.Disconnect()
//
// Its Prober tells which accounts have changed.
//
// PlatformConfig adds what makes real platforms hard: posts that become visible
// late and out of order (LateShare), slow answers (Latency), a rate limit, and
// wrong answers (Faults). Platform.Posted is the record of what was really
// shown, whatever went wrong with the answers.
//
// # A receiver that remembers
//
// A Receiver is an http.Handler that verifies each webhook request and records
// every delivery id: how often it came, whether its bytes stayed the same, when
// it was accepted. It answers 200, or what ReceiverConfig.Answer says:
//
//	r := enginetest.NewReceiver(enginetest.ReceiverConfig{
//		Secret: secret,
//		Answer: enginetest.FailFirst(0.1, 1), // 500 to the first attempt of every tenth
//	})
//
// # Did everything arrive?
//
// Check compares the platform's record with the receiver's and shares no code
// with the engine between them:
//
//	report := check.Check(p.Posted(), watches, r.Deliveries())
//	if err := report.Err(); err != nil {
//		t.Fatal(err) // posts lost, duplicated, changed or unexpected
//	}
//
// # An outage as a test
//
// A Recorder around a Fetcher writes down what a platform answered, names and texts
// hidden; a Player is a platform that plays the file, in the time of a
// testing/synctest bubble. Its Posted says what a monitor owes to its receiver:
//
//	recorder := enginetest.NewRecorder(platform, file) // in production
//	player, err := enginetest.NewPlayer(file)          // in a test
//
// PlayArrivals makes one of when accounts posted: package enginetest/arrivals.
//
// # Time and chance
//
// Nothing here looks at a clock but through Now, which defaults to time.Now, and
// waits are timers: inside a testing/synctest bubble hours pass in moments. Sockets do not work in a bubble;
// Platform.RoundTripper and Receiver.RoundTripper serve HTTP clients without any.
// The same seed and the same sequence of calls give the same posts, delays and
// faults.
package enginetest
