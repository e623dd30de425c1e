package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// config is what the command serve is asked for, by its flags and the environment.
type config struct {
	stored
	listening
	platforms
	pace
	stopping
	logging
	secrets
	segment      string
	quotas       streamwatch.Quotas
	allowPrivate bool
}

// listening is where the service is reached, and by whom.
type listening struct {
	addr, tlsCert, tlsKey, opsAddr string
	metrics                        bool
	origins                        []string
	keyless                        int
}

// pace is how often accounts are polled.
type pace struct {
	interval, minInterval time.Duration
	perSecond             float64
}

// stopping is how long what is under way goes on.
type stopping struct{ drain, stopTime time.Duration }

// logging is what the log is like.
type logging struct {
	logFormat string
	logLevel  slog.Level
}

// secrets come from the environment.
type secrets struct{ sealKey, cursorKey, token secret.Value }

// platforms are what the service watches.
type platforms struct {
	demo                   bool
	platform, appView, pds string
	sources                []sourceFlag
}

// parseServe reads the flags of serve.
func parseServe(p process, args []string) (c config, err error) {
	fs := newFlags("serve", "Serve runs the service until it is told to stop, by an interrupt or SIGTERM.")
	c.stored.flags(fs)
	var sources, more []string // of the environment; of the command line
	inArgs := false
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
	if err := fs.environment(p); err != nil {
		return c, err
	}
	sources, more, inArgs = more, nil, true
	if err := fs.parse(p, args); err != nil {
		return c, err
	}
	if len(more) > 0 {
		sources = more
	}
	if c.sources, err = parseSources(sources, p.env); err != nil {
		return c, usageError{err}
	}
	for name, v := range map[string]*secret.Value{"SEAL_KEY": &c.sealKey, "CURSOR_KEY": &c.cursorKey, "TOKEN": &c.token} {
		s, _ := p.env(envPrefix + name)
		*v = secret.Value(s)
	}
	if err := c.check(); err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// shortest is the least interval of a monitor.
func (c *config) shortest() time.Duration {
	if c.minInterval > 0 {
		return c.minInterval
	}
	return time.Second
}

func (c *config) check() error {
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
