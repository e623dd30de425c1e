// Streamwatch is the engine as a program, for those who write no Go: the whole service
// with monitors, filter rules, webhooks, WebSocket, credits and keys behind HTTP, as
// package enginehttp describes it.
//
//	streamwatch help
//
// lists the commands.
//
//	streamwatch watch -since mastodon:Gargron@mastodon.social bluesky:bsky.app
//
// prints the posts of accounts as they are found, and needs neither key nor file.
//
//	streamwatch serve -demo
//
// needs no setup: a fake platform posts, everything is kept in a file that is removed at the
// end, and a key with credits is printed, with which every endpoint can be tried by curl.
//
//	streamwatch serve -platform https://mastodon.social -db streams.db
//	streamwatch serve -platform bluesky -db redis://127.0.0.1:6379
//	streamwatch serve -config streamwatch.yaml
//
// watch real accounts; servers on one Redis share the work. What has no flag is in the
// configuration file, in YAML, in which ${NAME} is an environment variable:
//
//	seal-key: ${SEAL_KEY}
//	sources:
//	  - {name: bsky, kind: bluesky, probe: 1, stream: true, calls: 5}
//	  - {name: masto, kind: mastodon, url: https://mastodon.social, token: "${MASTODON_TOKEN}"}
//
// Accounts are then named bsky:alice.example.com, masto:Gargron and so on. streamwatch check
// tells what a configuration comes to. Keys and credits are issued by commands on the same
// store:
//
//	streamwatch key -db streams.db -owner acme -name production -credits 100000
//	streamwatch credits -db streams.db -owner acme -credits 5000
//	streamwatch keys -db streams.db -owner acme
//	streamwatch revoke -db streams.db -owner acme -id key_…
//	streamwatch erase -config streamwatch.yaml -owner acme
//	streamwatch reseal -config streamwatch.yaml
//	streamwatch backup -db streams.db -to streams-monday.db
//
// The flags of serve can also come from the environment: STREAMWATCH_ADDR for -addr and so
// on; the command line has precedence, and the file comes last. The manual is
// docs/service.md.
//
// The exit status is 0 when all went well, 78 (EX_CONFIG of sysexits.h) when the command
// line or the configuration is not allowed, and 1 for every other failure. A crash is 2, as
// of every Go program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // schedules name time zones, also where the system has none
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, process{env: os.LookupEnv, out: os.Stdout, logs: os.Stderr}, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "streamwatch:", err)
	}
	os.Exit(status(err))
}

// exitConfig is the exit status of a usageError. It is not 2, the status of a Go program
// that panics: a supervisor is to start that one again, and this one not.
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
