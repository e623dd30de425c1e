// Quickstart shows streamwatch at work in one command.
//
//	go run ./examples/quickstart
//
// runs everything on this machine, without any other network: a fake platform
// on loopback with a few accounts posting, the engine polling it over real HTTP,
// and a webhook receiver that verifies every signature. Each detection is a
// line; a summary with counts and latencies ends it. The exit status is 0 only
// if nothing was lost, doubled or left unverified.
//
//	go run ./examples/quickstart -interval 5s
//	go run ./examples/quickstart -interval 5s -probe
//	go run ./examples/quickstart -interval 5s -push
//
// show what probes and a stream bring: the same posts, found sooner.
//
//	go run ./examples/quickstart -ui
//
// serves the engine's console, too, until Ctrl-C, and prints its address.
//
//	go run ./examples/quickstart -mastodon https://mastodon.social/@Gargron -since
//	go run ./examples/quickstart -bluesky bsky.app,atproto.com -since
//	go run ./examples/quickstart -bluesky bsky.app -stream wss://jetstream2.us-east.bsky.network/subscribe
//
//	go run ./examples/quickstart -feed https://go.dev/blog/feed.atom -since
//	X_BEARER_TOKEN=… go run ./examples/quickstart -x golang,nasa
//
// watch real accounts until Ctrl-C, and with -webhook URL deliver what they post.
// The exit status is 1 if every poll of one of them failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/secret"
)

// options are the command line's flags.
type options struct {
	posts    int
	accounts int
	interval time.Duration
	lasts    time.Duration // how long the accounts of the demonstration post
	demoRoles
	json bool
	ui   bool

	mastodon     list
	token        string
	bluesky      list
	blueskyHost  string
	pds          string
	stream       string
	feed         feedOptions
	x            xOptions
	webhook      string
	secret       string
	allowPrivate bool
	since        bool
	runFor       time.Duration
}

// demoRoles are what the demonstration's platform has besides timelines.
type demoRoles struct {
	push, probe bool
}

// xOptions are those of X.
type xOptions struct {
	accounts list
	host     string
	limit    float64 // dollars a day
	token    secret.Value
}

// feedOptions are those of feeds.
type feedOptions struct {
	urls     list
	interval time.Duration
}

// list is a comma-separated flag.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	if strings.Trim(s, ", ") == "" {
		return errors.New("it is empty: want at least one account")
	}
	for _, item := range strings.Split(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			*l = append(*l, item)
		}
	}
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{lasts: demoLasts}
	fs := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // main prints the error, once
	fs.Usage = func() {}
	fs.IntVar(&o.posts, "posts", 60, "demonstration: posts to publish, over about 8 seconds, 1 to 100000")
	fs.IntVar(&o.accounts, "accounts", 6, "demonstration: accounts that post, 1 to 10000")
	fs.DurationVar(&o.interval, "interval", 0, "time between two polls of an account: 50ms to 10s in the demonstration (default 500ms), 5s to 1h for real accounts (default 15s, and 5m for feeds)")
	fs.BoolVar(&o.push, "push", false, "demonstration: the platform pushes posts, too, and polls only check that it left out none")
	fs.BoolVar(&o.probe, "probe", false, "demonstration: ask 10 times a second which accounts have changed, and poll these at once")
	fs.BoolVar(&o.json, "json", false, "end with the summary as one JSON object on a line")
	fs.BoolVar(&o.ui, "ui", false, "serve the console on a port of this machine, whose address is printed; the demonstration then stays until Ctrl-C")
	fs.Var(&o.mastodon, "mastodon", "Mastodon, GoToSocial … accounts: `https://host/@user[,…]` or user@host; no demonstration then")
	fs.StringVar(&o.token, "token", "", "access token for the Mastodon servers, if they want one")
	fs.Var(&o.bluesky, "bluesky", "Bluesky accounts: `handle[,…]`, DIDs, or their pages https://bsky.app/profile/handle; no demonstration then")
	fs.StringVar(&o.blueskyHost, "bluesky-host", "", "AppView to ask instead of the public one, a `URL`; not with -pds")
	fs.StringVar(&o.pds, "pds", "", "read the accounts' records from this PDS instead of an AppView, a `URL`; not with -bluesky-host")
	fs.StringVar(&o.stream, "stream", "", "have this Jetstream push the posts of the Bluesky accounts, too, a `URL` such as "+bluesky.DefaultJetstreamURL)
	fs.Var(&o.feed.urls, "feed", "RSS, Atom and JSON feeds: `URL[,…]`; no demonstration then")
	fs.Var(&o.x.accounts, "x", "X accounts: `handle[,…]`, by the API that "+xTokenVariable+" in the environment is a bearer token of; no demonstration then")
	fs.StringVar(&o.x.host, "x-host", "", "ask this server instead of X's, a `URL`")
	fs.Float64Var(&o.x.limit, "x-limit", 1, "stop asking X when it has charged so many `dollars` on a day, in UTC")
	fs.StringVar(&o.webhook, "webhook", "", "deliver real posts to this `URL`, too")
	fs.StringVar(&o.secret, "secret", "", "webhook signing secret, 24 characters or more (default: one is generated and shown)")
	fs.BoolVar(&o.allowPrivate, "allow-private", false, "let -webhook be http://, and -webhook and -feed addresses of a private network")
	fs.BoolVar(&o.since, "since", false, "print the newest post of each real account at once; X charges up to $0.035 for each, beside -x-limit")
	fs.DurationVar(&o.runFor, "for", 0, "stop watching real accounts after this long (default: at Ctrl-C)")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(stderr)
			fmt.Fprint(stderr, "Watch a demonstration on this machine (no flags), or real accounts (-mastodon, -bluesky, -feed, -x).\n\n")
			fs.PrintDefaults()
		}
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not allowed: want flags only", fs.Arg(0))
	}
	var err error
	fs.Visit(func(f *flag.Flag) {
		if need := needs[f.Name]; need != "" && !o.has(need) && err == nil {
			err = fmt.Errorf("-%s %s is not allowed: it needs %s", f.Name, shown(f), need)
		}
	})
	return o, errors.Join(err, o.check())
}

// needs says what a flag is of no use without.
var needs = map[string]string{
	"posts": demonstration, "accounts": demonstration, "push": demonstration, "probe": demonstration,
	"token": "-mastodon", "bluesky-host": "-bluesky", "pds": "-bluesky", "stream": "-bluesky", "x-host": "-x", "x-limit": "-x",
	"webhook": realAccounts, "since": realAccounts, "for": realAccounts,
	"secret": "-webhook", "allow-private": webhookOrFeed,
}

const (
	demonstration = "the demonstration, without -mastodon, -bluesky, -feed and -x"
	realAccounts  = "real accounts: -mastodon, -bluesky, -feed or -x"

	webhookOrFeed = "-webhook or -feed"

	xTokenVariable = "X_BEARER_TOKEN"
)

func (o *options) has(what string) bool {
	switch what {
	case demonstration:
		return !o.real()
	case "-mastodon":
		return len(o.mastodon) > 0
	case "-bluesky":
		return len(o.bluesky) > 0
	case "-x":
		return len(o.x.accounts) > 0
	case "-webhook":
		return o.webhook != ""
	case webhookOrFeed:
		return o.webhook != "" || len(o.feed.urls) > 0
	}
	return o.real()
}

// shown is a flag's value, unless it is a secret.
func shown(f *flag.Flag) string {
	if f.Name == "secret" || f.Name == "token" {
		return secret.Redacted
	}
	return strconv.Quote(f.Value.String())
}

func (o *options) real() bool {
	return len(o.mastodon)+len(o.bluesky)+len(o.feed.urls)+len(o.x.accounts) > 0
}

func (o *options) check() error {
	if o.interval == 0 {
		o.interval = 500 * time.Millisecond
		if o.real() {
			o.interval = 15 * time.Second
		}
		o.feed.interval = 5 * time.Minute
	}
	o.feed.interval = max(o.feed.interval, o.interval)
	lowest, highest, what := 50*time.Millisecond, 10*time.Second, "the demonstration"
	if o.real() {
		lowest, highest, what = 5*time.Second, time.Hour, "real accounts"
	}
	switch {
	case o.posts < 1 || o.posts > 100_000:
		return fmt.Errorf("-posts %d is not allowed: want 1 to 100000", o.posts)
	case o.accounts < 1 || o.accounts > 10_000:
		return fmt.Errorf("-accounts %d is not allowed: want 1 to 10000", o.accounts)
	case o.interval < lowest || o.interval > highest:
		return fmt.Errorf("-interval %s is not allowed: want %s to %s for %s", o.interval, lowest, highest, what)
	case o.runFor < 0:
		return fmt.Errorf("-for %s is not allowed: want a positive duration", o.runFor)
	case !(o.x.limit > 0):
		return fmt.Errorf("-x-limit %v is not allowed: want more than 0 dollars a day", o.x.limit)
	case o.pds != "" && o.blueskyHost != "":
		return fmt.Errorf("-pds %q is not allowed: want one of -pds and -bluesky-host", o.pds)
	}
	return nil
}

// usageError is a mistake on the command line: exit status 2.
type usageError struct{ error }

func usage(err error) error { return usageError{err} }

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	o.x.token = secret.Value(os.Getenv(xTokenVariable))
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	finished := context.AfterFunc(ctx, func() {
		stop() // from here on Ctrl-C ends the process at once
		fmt.Fprintln(os.Stderr, "stopping; Ctrl-C again quits at once")
	})
	var sum *summary
	if o.real() {
		sum, err = watch(ctx, o, os.Stdout)
	} else {
		sum, err = demonstrate(ctx, o, os.Stdout)
	}
	finished()
	stop()
	if sum != nil {
		sum.print(os.Stdout, o.json)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		var ue usageError
		if errors.As(err, &ue) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// key is the secret as a value that does not print.
func (o *options) key() secret.Value { return secret.Value(o.secret) }
