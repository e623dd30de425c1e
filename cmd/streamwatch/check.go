package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

const checkAbout = `Check takes the flags, the environment and the configuration file of serve, and tells what
serve would do by them, where each value comes from, and what is missing. It opens neither
store nor network. What is not allowed is told instead, and the exit status is then 78. So
it is when serve would not start because a variable that is named for a secret is not set:
all of them are under Missing.

The file is YAML. Its keys are the names of the flags; sources is a list:

    addr: 0.0.0.0:8080
    redis-env: REDIS_URL            # secrets are named by their variables; the address of Sentinels is
                                    # redis://[user:password@]host:26379/0?master_name=NAME&addr=host:26379&password=…
    seal-key-env: SEAL_KEY
    fleet: true
    sources:
      - {name: bsky, kind: bluesky, probe: true, stream: true, calls: 5}
      - name: masto
        kind: mastodon
        url: https://mastodon.social
        token-env: MASTODON_TOKEN`

// runCheck is the command check.
func runCheck(_ context.Context, p process, args []string) error {
	fs := newFlags("check", checkAbout)
	c, err := readConfig(p, args, fs)
	if err != nil {
		return err
	}
	tried := c
	tried.sources = slices.Clone(c.sources)
	for i := range tried.sources {
		s := &tried.sources[i]
		s.memory = "" // try would make the directory
		if s.tokenIn != "" && s.token == "" {
			s.token = "stands for the one that is not set" // 32 bytes or more, as WebSub wants it
		}
	}
	if err := try(tried, c.scheme()+"://"+c.addr, slog.New(slog.DiscardHandler)); err != nil {
		return errors.Join(err, c.unsetError())
	}
	if err := report(p.out, c, fs); err != nil {
		return err
	}
	if n := len(c.unset); n > 0 {
		return usageError{fmt.Errorf("%d of the environment variables that are named are empty or not set: see Missing", n)}
	}
	return nil
}

// report writes what serve would do, as a table.
func report(w io.Writer, c config, fs flags) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "What runs\n\n")
	fmt.Fprintf(t, "  service\t%s://%s/v1/%s/\n", c.scheme(), c.addr, c.segment)
	fmt.Fprintf(t, "  console\t%s://%s/console/, %s\n", c.scheme(), c.addr, c.consoleText())
	fmt.Fprintf(t, "  operators\t%s\n", c.opsText())
	fmt.Fprintf(t, "  store\t%s\n", c.storeText())
	fmt.Fprintf(t, "  fleet\t%s\n", c.fleetText())
	fmt.Fprintf(t, "  stop\t%s while /readyz says no, then up to %s for requests and %s for deliveries\n", c.drain, c.stopTime, c.stopTime)
	fmt.Fprintf(t, "\nSources\n\n")
	switch {
	case c.demo:
		fmt.Fprintf(t, "  (bare names)\tthe demonstration\t%s\t%s\n", c.paceText(), c.from.called("demo"))
	case c.platform != "":
		fmt.Fprintf(t, "  (bare names)\t%s\t%s\t%s\n", c.platform, c.paceText(), c.from.called("platform"))
	}
	for _, s := range c.sources {
		fmt.Fprintf(t, "  %s:\t%s\t%s\t%s\n", s.name, s.text(), s.budget(c), s.from)
	}
	fmt.Fprintf(t, "\nSecrets\n\n")
	for _, name := range []string{"seal-key", "cursor-key", "token"} {
		switch {
		case c.isUnset(name):
			fmt.Fprintf(t, "  %s\tnot set\t%s\n", name, c.from.called(name))
		case *c.secrets.values()[name] != "":
			shown := secret.Redacted
			if n := len(strings.Fields(string(c.sealKey))); name == "seal-key" && n > 1 {
				shown += fmt.Sprintf(", and %d more that only open", n-1)
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\n", name, shown, c.from.called(name))
		default:
			fmt.Fprintf(t, "  %s\tnone\n", name)
		}
	}
	fmt.Fprintf(t, "\nValues\n\n")
	fs.VisitAll(func(one *flag.Flag) {
		value := one.Value.String()
		switch {
		case one.Name == "config" || one.Name == "source":
			return
		case one.Name == "redis" && c.redis != "":
			value = c.where()
		case one.Name == "redis" && c.isUnset("redis"):
			value = "not set"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", one.Name, cmp.Or(value, "–"), cmp.Or(c.from[one.Name], "default"))
	})
	fmt.Fprintf(t, "\nMissing\n\n")
	missing := c.missing()
	for _, m := range missing {
		fmt.Fprintf(t, "  %s\n", m)
	}
	if len(missing) == 0 {
		fmt.Fprintf(t, "  nothing\n")
	}
	return t.Flush()
}

// scheme is that of the service's addresses.
func (c *config) scheme() string {
	if c.tlsCert != "" {
		return "https"
	}
	return "http"
}

func (c *config) consoleText() string {
	if c.operator == "" {
		return "where each key shows its owner's"
	}
	return "where each key shows its owner's, and admin keys of " + c.operator + " show all"
}

func (c *config) opsText() string {
	switch {
	case c.opsAddr != "" && c.metrics:
		return fmt.Sprintf("/metrics, /livez and /readyz on %s and on the service", c.opsAddr)
	case c.opsAddr != "":
		return fmt.Sprintf("/metrics, /livez and /readyz on %s, the last two on the service, too", c.opsAddr)
	case c.metrics:
		return "/metrics, /livez and /readyz on the service"
	}
	return "/livez and /readyz on the service"
}

func (c *config) storeText() string {
	switch {
	case c.isUnset("redis"):
		return "Redis, not set"
	case c.redis != "":
		return "Redis, " + c.where()
	case c.demo:
		return "SQLite, a file that is removed at the end"
	}
	return "SQLite, " + c.where()
}

func (c *config) fleetText() string {
	switch {
	case !c.fleet:
		return "none: it works alone"
	case c.node != "":
		return fmt.Sprintf("with all on this store, as node %s", c.node)
	}
	return "with all on this store"
}

// paceText says how accounts are polled whose source has no budget of its own.
func (c *config) paceText() string {
	if c.perSecond > 0 {
		text := fmt.Sprintf("%g calls a second", c.perSecond)
		if c.burst > 0 {
			text += fmt.Sprintf(", up to %d at once", c.burst)
		}
		return text
	}
	return fmt.Sprintf("every %s, unless a monitor says otherwise", cmp.Or(c.interval, defaultInterval))
}

// defaultInterval is that of streamwatch.Config.
const defaultInterval = time.Minute

// text says what a source is, and what it is used for beside timelines.
func (s *sourceFlag) text() string {
	parts := []string{strings.TrimSpace(s.kind + " " + s.url)}
	for _, o := range []struct {
		has  bool
		text string
	}{
		{s.pds, "as a PDS"}, {s.probe, "probed"}, {s.stream, strings.TrimSpace("stream " + s.streamURL)}, {s.rules, "stream of rules"},
		{s.contact != "", "contact " + s.contact}, {s.memory != "", "remembered in " + s.memory}, {s.token != "", "token " + secret.Redacted},
		{s.tokenIn != "" && s.token == "", "token not set"},
	} {
		if o.has {
			parts = append(parts, o.text)
		}
	}
	return strings.Join(parts, ", ")
}

// budget says how much a source may be asked, and may charge.
func (s *sourceFlag) budget(c config) string {
	c.perSecond, c.burst = s.calls, s.burst
	parts := []string{c.paceText()}
	if s.probeRate > 0 {
		parts = append(parts, fmt.Sprintf("%g probes a second", s.probeRate))
	}
	if s.limit > 0 {
		parts = append(parts, fmt.Sprintf("at most $%g a day", s.limit))
	}
	return strings.Join(parts, ", ")
}

// missing lists the secrets that are not set, and what is allowed but not advisable for a
// service that runs for long.
func (c *config) missing() (all []string) {
	for _, u := range c.unset {
		all = append(all, u.Error())
	}
	if c.demo {
		return all
	}
	host, _, _ := net.SplitHostPort(c.addr)
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	for _, m := range []struct {
		is   bool
		text string
	}{
		{c.sealKey == "" && !c.isUnset("seal-key"), "seal-key: the secrets of webhooks are kept as they are; want " + variable("seal-key") + " of openssl rand -base64 32"},
		{!local && c.tlsCert == "", "tls-cert, tls-key: API keys are sent in the clear, unless a proxy before the service has TLS"},
		{c.opsAddr == "" && !c.metrics, "ops-addr: nobody can read /metrics"},
		{(c.redis != "" || c.isUnset("redis")) && !c.fleet && c.cursorKey == "" && !c.isUnset("cursor-key"), "cursor-key: cursors of one process are unknown to the others"},
	} {
		if m.is {
			all = append(all, m.text)
		}
	}
	for _, s := range c.sources {
		switch {
		case s.kind == "x" && s.limit == 0:
			all = append(all, fmt.Sprintf("source %s, limit: X may charge without a bound", s.name))
		case s.kind == "feed" && s.contact == "":
			all = append(all, fmt.Sprintf("source %s, contact: publishers cannot know whom to ask", s.name))
		}
	}
	return all
}
