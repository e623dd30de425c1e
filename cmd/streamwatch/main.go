// Streamwatch is the engine as a program, for users who do not write Go. It serves monitors, filter
// rules, webhooks, WebSocket, credits and keys over HTTP: see package enginehttp.
//
//	streamwatch help
//
// lists the commands.
//
//	streamwatch watch -since mastodon:Gargron@mastodon.social bluesky:bsky.app
//
// prints new posts of accounts. It needs neither a key nor a file.
//
//	streamwatch serve -demo
//
// needs no setup. A fake platform posts, and all data is in a file that is removed at the end. The
// program prints a key with credits, to try every endpoint with curl.
//
//	streamwatch serve -platform https://mastodon.social -db streams.db
//	streamwatch serve -platform bluesky -db postgres://127.0.0.1/streams
//	streamwatch serve -config streamwatch.yaml
//
// watch real accounts. Servers on one PostgreSQL or Redis share the work. Settings without a flag are in the
// configuration file. It is YAML, and ${NAME} in it is an environment variable:
//
//	seal-key: ${SEAL_KEY}
//	sources:
//	  - {name: bsky, kind: bluesky, probe: 1, stream: true, calls: 5}
//	  - {name: masto, kind: mastodon, url: https://mastodon.social, token: "${MASTODON_TOKEN}"}
//
// Accounts then have names such as bsky:alice.example.com and masto:Gargron. streamwatch check
// explains a configuration. Commands on the same store issue keys and credits:
//
//	streamwatch key -db streams.db -owner acme -name production -credits 100000
//	streamwatch credits -db streams.db -owner acme -credits 5000
//	streamwatch keys -db streams.db -owner acme
//	streamwatch revoke -db streams.db -owner acme -id key_…
//	streamwatch erase -config streamwatch.yaml -owner acme
//	streamwatch reseal -config streamwatch.yaml
//	streamwatch backup -db streams.db -to streams-monday.db
//	streamwatch copy -from streams.db -to postgres://127.0.0.1/streams
//
// The flags of serve can also be environment variables, such as STREAMWATCH_ADDR for -addr. The
// command line has precedence over the environment, and the environment over the file. The manual
// is docs/operate.md.
//
// An interrupt or SIGTERM stops a command, a second one ends it at once. SIGHUP has serve read its
// certificate and its limits again.
//
// The exit status is 0 for success, 78 (EX_CONFIG of sysexits.h) if the command line or the
// configuration is not allowed, and 1 for every other failure. After a panic it is 2, as for every
// Go program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, and the system may not have them
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals) // a second one ends the program at once, as if none were awaited
		stop()
	}()
	err := run(ctx, process{env: os.LookupEnv, out: os.Stdout, logs: os.Stderr}, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "streamwatch:", err)
	}
	os.Exit(status(err))
}

// exitConfig is the exit status of a usageError. It differs from 2, the status of a Go program that
// panics: a supervisor should restart the program after a panic, but not after a usageError.
const exitConfig = 78

// status returns the exit status for an error of run.
func status(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(usageError)):
		return exitConfig
	}
	return 1
}
