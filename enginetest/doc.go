// Package enginetest has fakes for tests of a stream-monitoring service: a platform to poll, and a
// webhook receiver to deliver to. Package check compares what the two recorded. enginetest does not
// import package testing, so demonstrations can use it, too. The conformance suites are
// storage/storetest for stores and fetcher/fetchertest for platforms.
//
// # A platform with faults
//
// A Platform has accounts that post on demand or at random:
//
//	p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
//	p.Post("nasa", "Lift-off")
//	go p.Run(ctx, enginetest.PostRate{PerSecond: 10, Total: 500})
//
// It is a fetcher.Fetcher, which an engine polls directly:
//
//	engine, err := streamwatch.New(streamwatch.Config{Fetcher: p})
//
// Platform.Handler serves the calls of the Mastodon REST API that read timelines. With it a client
// in any language can be tested over HTTP:
//
//	http.ListenAndServe("localhost:8080", p.Handler())
//	// curl 'localhost:8080/api/v1/accounts/lookup?acct=nasa'
//
// It is also a fetcher.Searcher, for queries in the language of package rule/query. Its Streamer
// pushes posts, edits and deletions when they become visible. It has the faults of real streams, at
// random (StreamFaults) or when a test calls a method:
//
//	stream := p.Streamer(enginetest.StreamConfig{Faults: enginetest.StreamFaults{Drop: 0.01}})
//	stream.Disconnect()
//
// Its Prober reports which accounts have changed.
//
// PlatformConfig adds the difficulties of real platforms: posts that become visible late and out of
// order (LateShare), slow answers (Latency), a rate limit, and wrong answers (Faults).
// Platform.Posted returns the posts that became visible; faults do not change it.
//
// # A receiver that remembers
//
// A Receiver is an http.Handler that verifies each webhook request. For each delivery id it records
// how often it came, whether its bytes stayed the same, and when it was accepted. It answers 200, or
// as ReceiverConfig.Answer decides:
//
//	r := enginetest.NewReceiver(enginetest.ReceiverConfig{
//		Secret: secret,
//		Answer: enginetest.FailFirst(0.1, 1), // 500 to the first attempt of every tenth
//	})
//
// # Did everything arrive?
//
// Check compares the platform's record with the receiver's, without asking the engine:
//
//	report := check.Check(p.Posted(), watches, r.Deliveries())
//	if err := report.Err(); err != nil {
//		t.Fatal(err) // posts lost, duplicated, changed or unexpected
//	}
//
// # An outage as a test
//
// A Recorder wraps a Fetcher and records the platform's answers, without names and texts. A Player
// is a platform that plays the recording, by the clock of a testing/synctest bubble if it runs in
// one. Its Posted returns the posts that a monitor must deliver:
//
//	recorder := enginetest.NewRecorder(platform, file) // in production
//	player, err := enginetest.NewPlayer(file)          // in a test
//
// PlayArrivals returns a Player for the times at which accounts posted: see package
// enginetest/arrivals.
//
// # Time and chance
//
// The package reads the time only through Now, which defaults to time.Now, and waits only with
// timers. Inside a testing/synctest bubble hours therefore pass in moments. Sockets do not work in a
// bubble: there use Platform.RoundTripper and Receiver.RoundTripper, which need none. The same seed
// and the same sequence of calls give the same posts, delays and faults.
package enginetest
