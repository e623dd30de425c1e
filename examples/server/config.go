package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// config is the command line and the environment.
type config struct {
	command string

	stored

	// of serve
	addr, tlsCert, tlsKey, opsAddr string
	watched
	segment                   string
	interval, minInterval     time.Duration
	drain, stopTime           time.Duration
	metrics                   bool
	origins                   []string
	keyless                   int
	quotas                    streamwatch.Quotas
	perSecond                 float64
	allowPrivate              bool
	logFormat                 string
	logLevel                  slog.Level
	sealKey, cursorKey, token secret.Value

	// of the other commands
	owner, name, tier, id, scope string
	rate                         int
	credits                      int64
}

// stored is where everything is kept, and by whom.
type stored struct {
	db, redis string
	fleet     bool
	node      string
}

// watched are the platforms that serve watches.
type watched struct {
	demo                   bool
	platform, appView, pds string
	sources                []sourceFlag
}

var commands = []string{"serve", "key", "keys", "revoke", "credits"}

const envPrefix = "STREAMWATCH_"

func parse(command string, args []string, env func(string) (string, bool), out io.Writer) (config, error) {
	c := config{command: command}
	if !slices.Contains(commands, command) {
		return c, fmt.Errorf("command %.40q is not allowed: want one of %s", command, strings.Join(commands, ", "))
	}
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // main prints the error, once
	fs.StringVar(&c.db, "db", "streamwatch.db", "SQLite `file`; with -demo one that is removed at the end")
	fs.StringVar(&c.redis, "redis", "", "keep everything in Redis instead: redis://[user:password@]host:port, or with ?addr=host:port&addr=… a cluster")
	var sources, more []string // of the environment; of the command line
	inArgs := false
	if command == "serve" {
		fs.StringVar(&c.addr, "addr", "127.0.0.1:8080", "listen here")
		fs.BoolVar(&c.fleet, "fleet", false, "share the work with the other servers on the same -redis or -db that are started so")
		fs.StringVar(&c.node, "node", "", "with -fleet: the server's `name`, which no other has (default: the host's name and the process's number)")
		fs.StringVar(&c.tlsCert, "tls-cert", "", "certificate `file` (PEM); with -tls-key, serve HTTPS")
		fs.StringVar(&c.tlsKey, "tls-key", "", "key `file` (PEM)")
		fs.StringVar(&c.opsAddr, "ops-addr", "", "serve /metrics, /livez and /readyz here, until the very end")
		fs.BoolVar(&c.metrics, "metrics", false, "serve /metrics on -addr, too, to everybody (on with -demo)")
		fs.DurationVar(&c.drain, "drain", 2*time.Second, "when told to stop, go on for so long while /readyz says no")
		fs.DurationVar(&c.stopTime, "stop-time", 15*time.Second, "then let requests and deliveries under way go on for so long before they are cut")
		fs.Func("origins", "let pages of these origins use the service from browsers: https://app.example.com,… (default none)", func(v string) error {
			c.origins = strings.Split(v, ",")
			for _, o := range c.origins {
				if err := enginehttp.CheckOrigin(o); err != nil {
					return err
				}
			}
			return nil
		})
		fs.IntVar(&c.keyless, "keyless", 10, "WebSocket connections from one address that may wait to show their key; more behind a proxy")
		for _, q := range []struct {
			name, what string
			n          *int
		}{
			{"monitors", "monitors", &c.quotas.Monitors}, {"rules", "filter rules", &c.quotas.Rules},
			{"webhooks", "webhooks", &c.quotas.Endpoints}, {"accounts", "accounts in its monitors", &c.quotas.Accounts},
			{"websockets", "WebSocket connections", &c.quotas.Connections},
		} {
			fs.IntVar(q.n, "max-"+q.name, 0, "`number` of "+q.what+" that an owner may have (default no bound)")
		}
		fs.BoolVar(&c.demo, "demo", false, "a fake platform, a key with credits, a file that is removed at the end")
		fs.StringVar(&c.platform, "platform", "", "what to watch: bluesky, or the `URL` of a Mastodon server; not with -demo")
		fs.StringVar(&c.appView, "appview", "", "with -platform bluesky: ask this AppView instead of the public one, a `URL`; not with -pds")
		fs.StringVar(&c.pds, "pds", "", "with -platform bluesky: read the accounts' records from this PDS instead of an AppView, a `URL`; not with -appview")
		fs.Func("source", sourceUsage, func(v string) error {
			if !inArgs { // of the environment: several, with spaces between them
				more = append(more, strings.Fields(v)...)
			} else {
				more = append(more, v)
			}
			return nil // parseSources tells, and nothing that is secret
		})
		fs.StringVar(&c.segment, "segment", "social", "the word after /v1 in the paths")
		fs.DurationVar(&c.interval, "interval", 0, "time between two polls of an account, -min-interval or more (default 60s, with -demo 1s)")
		fs.DurationVar(&c.minInterval, "min-interval", 0, "shortest interval that a monitor or rule may ask for, 100ms or more (default 1s for monitors, 100ms for rules)")
		fs.Float64Var(&c.perSecond, "calls", 0, "spend so many upstream calls a second where they find posts earliest, in place of -interval")
		fs.BoolVar(&c.allowPrivate, "allow-private", false, "let webhooks and pages be http:// and in private networks (on with -demo)")
		fs.StringVar(&c.logFormat, "log", "text", "text or json")
		fs.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
	} else {
		fs.StringVar(&c.owner, "owner", "", "whose keys and credits")
		switch command {
		case "key":
			fs.StringVar(&c.name, "name", "default", "what the owner calls the key")
			fs.StringVar(&c.tier, "tier", "", "the owner's tier, for people")
			fs.StringVar(&c.scope, "scope", "write", "what the key may do: read, write, or admin, which lets the owner make and revoke keys over HTTP")
			fs.IntVar(&c.rate, "rate", 0, "requests a minute (default: the server's)")
			fs.Int64Var(&c.credits, "credits", 0, "credits to give at once")
		case "credits":
			fs.Int64Var(&c.credits, "credits", 0, "credits to give")
			fs.StringVar(&c.id, "id", "", "id of the top-up; the same again gives nothing more (default: a new one)")
		case "revoke":
			fs.StringVar(&c.id, "id", "", "the key's id")
		}
	}
	var err error
	fs.VisitAll(func(f *flag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v, ok := env(name); ok && err == nil {
			if e := f.Value.Set(v); e != nil {
				err = fmt.Errorf("%s %q is not allowed: %w", name, v, e)
			}
		}
	})
	if err != nil {
		return c, err
	}
	sources, more, inArgs = more, nil, true
	if err := fs.Parse(args); err != nil {
		if err == flag.ErrHelp {
			fs.SetOutput(out)
			fmt.Fprintf(out, "Commands: %s. Flags of %s, each also as %s…:\n\n", strings.Join(commands, ", "), command, envPrefix)
			fs.PrintDefaults()
		}
		return c, err
	}
	if fs.NArg() > 0 {
		return c, fmt.Errorf("argument %q is not allowed: want flags only", fs.Arg(0))
	}
	if len(more) > 0 {
		sources = more
	}
	if c.sources, err = parseSources(sources, env); err != nil {
		return c, err
	}
	for name, v := range map[string]*secret.Value{"SEAL_KEY": &c.sealKey, "CURSOR_KEY": &c.cursorKey, "TOKEN": &c.token} {
		s, _ := env(envPrefix + name)
		*v = secret.Value(s)
	}
	return c, c.check()
}

// shortest is the least interval of a monitor.
func (c *config) shortest() time.Duration {
	if c.minInterval > 0 {
		return c.minInterval
	}
	return time.Second
}

func (c *config) check() error {
	if c.command != "serve" {
		switch {
		case c.owner == "":
			return fmt.Errorf("-owner is missing: want whose keys and credits")
		case c.command == "revoke" && c.id == "":
			return fmt.Errorf("-id is missing: want the key's id, see the command keys")
		case c.credits < 0 || c.credits > 1e15 || c.command == "credits" && c.credits == 0:
			return fmt.Errorf("-credits %d is not allowed: want 1 to 1000000000000000", c.credits)
		}
		return nil
	}
	switch {
	case c.demo && c.platform != "", !c.demo && c.platform == "" && len(c.sources) == 0:
		return fmt.Errorf("want either -demo or -platform, such as -platform https://mastodon.social, or -source")
	case c.demo && c.fleet:
		return fmt.Errorf("-fleet is not allowed with -demo: its file and its platform are of one process")
	case c.node != "" && !c.fleet:
		return fmt.Errorf("-node %q is not allowed without -fleet", c.node)
	case (c.appView != "" || c.pds != "") && c.platform != "bluesky":
		return fmt.Errorf("-appview %q and -pds %q are not allowed: they need -platform bluesky", c.appView, c.pds)
	case c.appView != "" && c.pds != "":
		return fmt.Errorf("-appview %q is not allowed with -pds: want one of them", c.appView)
	case (c.tlsCert == "") != (c.tlsKey == ""):
		return fmt.Errorf("-tls-cert and -tls-key: want both or neither")
	case c.logFormat != "text" && c.logFormat != "json":
		return fmt.Errorf("-log %q is not allowed: want text or json", c.logFormat)
	case c.demo && c.sealKey != "":
		return fmt.Errorf("%sSEAL_KEY is not allowed with -demo: its receiver reads the secrets from the store", envPrefix)
	case c.minInterval != 0 && (c.minInterval < rule.MinInterval || c.minInterval > rule.MaxInterval):
		return fmt.Errorf("-min-interval %s is not allowed: want %s to %s", c.minInterval, rule.MinInterval, rule.MaxInterval)
	case c.interval != 0 && c.interval < c.shortest():
		return fmt.Errorf("-interval %s is not allowed: want %s or more, see -min-interval", c.interval, c.shortest())
	case c.drain < 0 || c.drain > time.Minute:
		return fmt.Errorf("-drain %s is not allowed: want 0s to 1m", c.drain)
	case c.stopTime <= 0 || c.stopTime > time.Hour:
		return fmt.Errorf("-stop-time %s is not allowed: want more than 0s and at most 1h", c.stopTime)
	case min(c.quotas.Monitors, c.quotas.Rules, c.quotas.Endpoints, c.quotas.Accounts, c.quotas.Connections) < 0:
		return fmt.Errorf("-max-… below 0 is not allowed: want 1 or more, or 0 for no bound")
	case c.keyless < 1:
		return fmt.Errorf("-keyless %d is not allowed: want 1 or more", c.keyless)
	case c.perSecond < 0:
		return fmt.Errorf("-calls %g is not allowed: want more than 0", c.perSecond)
	}
	if c.demo {
		c.allowPrivate, c.metrics = true, true
		if c.interval == 0 {
			c.interval = max(time.Second, c.minInterval)
		}
	}
	return nil
}
