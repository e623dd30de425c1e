package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/streamwatch/streamwatch/secret"
)

const checkAbout = `Check tells what serve would do with the same flags, environment and configuration file, where
each value is from, and what is missing. It opens neither store nor network. What is not
allowed is an error, with the exit status 78; so are variables that are not set.

The file is YAML. deploy/streamwatch.yaml has all keys. ${NAME} in a value is replaced by the
environment variable of that name, which is how a secret gets in; ${NAME:-text} by the text
where it is not set:

    addr: 0.0.0.0:8080
    db: ${DATABASE_URL}
    seal-key: ${SEAL_KEY}
    sources:
      - {name: bsky, kind: bluesky, probe: 1, stream: true, calls: 5}
      - name: masto
        kind: mastodon
        url: https://mastodon.social
        token: ${MASTODON_TOKEN}`

// runCheck is the command check.
func runCheck(_ context.Context, p process, args []string) error {
	c, err := readServe(p, args, newFlags("check", checkAbout))
	if err != nil {
		return err
	}
	if len(c.unset) == 0 {
		tried := c
		tried.Sources = slices.Clone(c.Sources)
		for i := range tried.Sources {
			tried.Sources[i].Memory = "" // try would make the directory
		}
		if err := try(tried, c.scheme()+"://"+c.Addr, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
	}
	if err := report(p.out, c); err != nil {
		return err
	}
	if err := c.unsetError(); err != nil {
		return usageError{err}
	}
	return nil
}

// report writes what serve would do, as a table.
func report(w io.Writer, c config) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "What runs\n\n")
	fmt.Fprintf(t, "  service\t%s://%s/v1/%s/\n", c.scheme(), c.Addr, c.Segment)
	fmt.Fprintf(t, "  console\t%s://%s/console/, where each key shows its owner's%s\n", c.scheme(), c.Addr, c.operatorText())
	fmt.Fprintf(t, "  operators\t%s\n", c.opsText())
	fmt.Fprintf(t, "  store\t%s%s\n", c.storeText(), map[bool]string{true: ", whose servers share the work"}[c.shared()])
	fmt.Fprintf(t, "  stop\t%s while /readyz says no, then up to %s for requests and %[2]s for deliveries\n", c.Drain, c.StopTime)
	for _, s := range c.Sources {
		fmt.Fprintf(t, "  accounts %s:\t%s, %s\n", s.Name, strings.TrimSpace(s.Kind+" "+s.URL), c.paceText(s))
	}
	fmt.Fprintf(t, "\nValues\n\n")
	c.values(t, reflect.ValueOf(c), "")
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

// values writes the values of a struct and where each comes from. For a source it writes only the
// values that are set.
func (c *config) values(w io.Writer, of reflect.Value, prefix string) {
	for i := range of.NumField() {
		key := prefix + of.Type().Field(i).Tag.Get("yaml")
		switch value := of.Field(i); {
		case key == prefix:
		case value.Kind() == reflect.Struct:
			c.values(w, value, key+".")
		case value.Type() == reflect.TypeFor[[]source]():
			for n := range value.Len() {
				c.values(w, value.Index(n), fmt.Sprintf("%s[%d].", key, n))
			}
		case c.from[key] != "" || !strings.Contains(prefix, "["):
			fmt.Fprintf(w, "  %s\t%s\t%s\n", key, c.shown(key, value), cmp.Or(c.from[key], "default"))
		}
	}
}

// shown is a value as it may be printed.
func (c *config) shown(key string, value reflect.Value) string {
	switch {
	case c.isUnset(key):
		return "not set"
	case value.IsZero():
		return "–"
	case key == "db":
		return c.where()
	case key == "seal-key" && len(strings.Fields(string(c.SealKey))) > 1:
		return fmt.Sprintf("%s, and %d more that only open", secret.Redacted, len(strings.Fields(string(c.SealKey)))-1)
	}
	return fmt.Sprint(value.Interface())
}

// scheme is that of the service's addresses.
func (c *config) scheme() string {
	if c.TLSCert != "" {
		return "https"
	}
	return "http"
}

func (c *config) operatorText() string {
	if c.Operator == "" {
		return ""
	}
	return ", and admin keys of " + c.Operator + " show all"
}

func (c *config) opsText() string {
	text := "/livez and /readyz on the service"
	if c.OpsAddr != "" {
		text += ", and with /metrics on " + c.OpsAddr
	}
	if c.Demo {
		text += ", /metrics, too"
	}
	return text
}

func (c *config) storeText() string {
	switch {
	case c.isUnset("db"):
		return "not set"
	case c.Demo:
		return "SQLite, a file that is removed at the end"
	}
	return string(c.kind()) + ", " + c.where()
}

// paceText says how the accounts of a source are polled.
func (c *config) paceText(s source) string {
	if s.Calls == 0 {
		return fmt.Sprintf("every %s, unless a monitor says otherwise", max(cmp.Or(c.Interval, defaultInterval), s.least()))
	}
	return fmt.Sprintf("%g calls a second", s.Calls)
}

// missing returns the variables that are not set, and warnings about values that are allowed but not
// advisable for a real service.
func (c *config) missing() (all []string) {
	for _, u := range c.unset {
		all = append(all, u.Error())
	}
	if c.Demo {
		return all
	}
	host, _, _ := net.SplitHostPort(c.Addr)
	ip := net.ParseIP(host)
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	if c.SealKey == "" {
		all = append(all, "seal-key: the secrets of webhooks are kept as they are; want one of openssl rand -base64 32")
	}
	if !local && c.TLSCert == "" {
		all = append(all, "tls-cert, tls-key: API keys are sent in the clear, unless a proxy before the service has TLS")
	}
	if c.OpsAddr == "" {
		all = append(all, "ops-addr: nobody can read /metrics")
	}
	for _, s := range c.Sources {
		switch {
		case s.Kind == "x" && s.Limit == 0:
			all = append(all, fmt.Sprintf("source %s, limit: X may charge without a bound", s.Name))
		case s.Kind == "feed" && s.Contact == "":
			all = append(all, fmt.Sprintf("source %s, contact: publishers cannot know whom to ask", s.Name))
		}
	}
	return all
}
