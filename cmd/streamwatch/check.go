package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch/engineotel/otelenv"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/secret"
)

const checkAbout = `Check prints what serve would do with the same flags, environment and configuration file, which values are in
force and where each is from, and what is missing. It opens neither store nor network. What is not allowed
is an error, with the exit status 78; so are variables that are not set. serve -h lists the keys of the file.

The file is YAML. deploy/streamwatch.yaml has all keys. ${NAME} in a value is replaced by the environment
variable of that name, which is how a secret gets in; ${NAME:-text} by the text where it is not set:

    addr: 0.0.0.0:8080
    db: ${DATABASE_URL}
    seal-key: ${SEAL_KEY}
    sources:
      - {name: bsky, kind: bluesky, probe: 1, stream: true, calls: 5}
      - name: masto
        kind: mastodon
        url: https://mastodon.social
        token: ${MASTODON_TOKEN}`

// defineCheck is the command check.
func defineCheck(f *command.Flags) command.Run {
	serveFlags(f)
	asJSON := f.JSON()
	return func(_ context.Context, p process) error {
		c, err := readServe(p, f)
		if err != nil {
			return err
		}
		return printForced(c, *asJSON, p.Out)
	}
}

// printForced prints what is in force, and returns an error if serve would.
func printForced(c config, asJSON bool, out io.Writer) error {
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
	r := forced{Runs: c.runs(), Values: c.values(reflect.ValueOf(c), ""), Missing: append([]string{}, c.missing()...)}
	print := r.print
	if asJSON {
		print = func(w io.Writer) error { return command.PrintJSON(w, r) }
	}
	return errors.Join(print(out), command.Usage(c.unsetError()))
}

// forced is what check prints.
type forced struct {
	Runs    []entry  `json:"runs"`
	Values  []entry  `json:"values"`
	Missing []string `json:"missing"`
}

// entry is a line of it.
type entry struct {
	Name string `json:"name"`
	Text string `json:"value"`
	From string `json:"from,omitempty"`
}

func (r *forced) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, part := range []struct {
		title string
		all   []entry
	}{{"What runs", r.Runs}, {"\nValues in force", r.Values}} {
		fmt.Fprintf(t, "%s\n\n", part.title)
		for _, e := range part.all {
			fmt.Fprintf(t, "  %s\n", strings.TrimRight(e.Name+"\t"+e.Text+"\t"+e.From, "\t"))
		}
	}
	fmt.Fprintf(t, "\nMissing\n\n")
	for _, m := range r.Missing {
		fmt.Fprintf(t, "  %s\n", m)
	}
	if len(r.Missing) == 0 {
		fmt.Fprintf(t, "  nothing\n")
	}
	return t.Flush()
}

// runs says what serve would do.
func (c *config) runs() []entry {
	all := []entry{
		{Name: "service", Text: fmt.Sprintf("%s://%s/v1/%s/", c.scheme(), c.Addr, c.Segment)},
		{Name: "console", Text: fmt.Sprintf("%s://%s/console/, where each key shows its owner's%s", c.scheme(), c.Addr, c.operatorText())},
		{Name: "operators", Text: c.opsText()},
		{Name: "store", Text: c.storeText() + map[bool]string{true: ", whose servers share the work"}[c.DB.Shared()]},
		{Name: "telemetry", Text: "sends " + cmp.Or(strings.Join(otelenv.Signals(), " and "), "nothing") + ", as the variables OTEL_… say"},
		{Name: "stop", Text: fmt.Sprintf("%s while /readyz says no, then up to %s for requests and %[2]s for deliveries", c.Drain, c.StopTime)},
	}
	for _, s := range c.Sources {
		all = append(all, entry{Name: "accounts " + s.Name + ":", Text: strings.TrimSpace(s.Kind+" "+s.URL) + ", " + c.paceText(s)})
	}
	return all
}

// values returns the values of a struct and where each comes from; of a source only those that are
// set.
func (c *config) values(of reflect.Value, prefix string) (all []entry) {
	for i := range of.NumField() {
		key := prefix + of.Type().Field(i).Tag.Get("yaml")
		switch value := of.Field(i); {
		case key == prefix:
		case value.Kind() == reflect.Struct:
			all = append(all, c.values(value, key+".")...)
		case value.Type() == reflect.TypeFor[[]source]():
			for n := range value.Len() {
				all = append(all, c.values(value.Index(n), fmt.Sprintf("%s[%d].", key, n))...)
			}
		case c.from[key] != "" || !strings.Contains(prefix, "["):
			all = append(all, entry{key, c.shown(key, value), cmp.Or(c.from[key], "default")})
		}
	}
	return all
}

// zeros say what the value 0 of a key comes to.
var zeros = map[string]string{
	"interval": defaultInterval.String(), "min-interval": time.Second.String(), "connections": "no bound", "limits.monitors": "no bound", "limits.rules": "no bound",
	"limits.webhooks": "no bound", "limits.accounts": "no bound", "limits.websockets": "no bound", "passive": "false", "demo": "false", "allow-private": "false",
}

// shown is a value as it may be printed.
func (c *config) shown(key string, value reflect.Value) string {
	switch {
	case c.isUnset(key):
		return "not set"
	case value.IsZero() && value.Type() != reflect.TypeFor[slog.Level]():
		return cmp.Or(zeros[key], "none")
	case key == "db":
		return c.DB.String()
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
	return string(c.DB.Kind()) + ", " + c.DB.String()
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
