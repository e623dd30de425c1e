package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/internal/command"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/internal/stores"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// config is the configuration of serve. The tags are the keys of the configuration file, and for those
// that are no flags their group and text in the help of serve.
type config struct {
	Addr          string         `yaml:"addr"`
	DB            stores.Address `yaml:"db"`
	Passive       bool           `yaml:"passive"`
	Demo          bool           `yaml:"demo"`
	Platform      string         `yaml:"platform"`
	Log           string         `yaml:"log"`
	TLSCert       string         `yaml:"tls-cert" doc:"Service: file of the certificate; without it no TLS"`
	TLSKey        string         `yaml:"tls-key" doc:"Service: file of its key"`
	OpsAddr       string         `yaml:"ops-addr" doc:"Service: host:port of /metrics, and of /livez and /readyz, too"`
	Origins       []string       `yaml:"origins" doc:"Service: whose pages may use the service from browsers"`
	Operator      string         `yaml:"operator" doc:"Service: owner whose admin keys see all owners in the console"`
	ClientAddress string         `yaml:"client-address" doc:"Service: header with the client's address, of a proxy"`
	Segment       string         `yaml:"segment" doc:"Service: word behind /v1 in the paths"`
	SealKey       secret.Value   `yaml:"seal-key" doc:"Store: encrypts the secrets of webhooks"`
	CursorKey     secret.Value   `yaml:"cursor-key" doc:"Store: keeps next_cursor good after a restart"`
	Sources       []source       `yaml:"sources" doc:"Platforms: several, by name: see docs/operate.md"`
	Interval      time.Duration  `yaml:"interval" doc:"Platforms: between two polls of an account"`
	MinInterval   time.Duration  `yaml:"min-interval" doc:"Platforms: shortest one that a monitor may ask for"`
	AllowPrivate  bool           `yaml:"allow-private" doc:"Platforms: let webhooks, pages and feeds be in private networks"`
	Limits        limits         `yaml:"limits" doc:"Limits: what an owner may have, such as monitors: 100"`
	Connections   int            `yaml:"connections" doc:"Limits: connections from one address"`
	Keyless       int            `yaml:"keyless" doc:"Limits: WebSockets from one address that have not shown a key"`
	LogLevel      slog.Level     `yaml:"log-level" doc:"More: debug, info, warn or error"`
	Drain         time.Duration  `yaml:"drain" doc:"More: how long to go on while /readyz says no, when told to stop"`
	StopTime      time.Duration  `yaml:"stop-time" doc:"More: how long requests, and deliveries, may take after that"`

	from  origins
	admin bool // for a command, while the service may run
	waits bool // for the store, while it cannot be reached
	unset []unset
}

// limits bound what an owner may have; 0 is no bound.
type limits struct {
	Monitors   int `yaml:"monitors"`
	Rules      int `yaml:"rules"`
	Webhooks   int `yaml:"webhooks"`
	Accounts   int `yaml:"accounts"`
	WebSockets int `yaml:"websockets"`
}

func (l limits) quotas() streamwatch.Quotas {
	return streamwatch.Quotas{Monitors: l.Monitors, Rules: l.Rules, Endpoints: l.Webhooks, Accounts: l.Accounts, Connections: l.WebSockets}
}

// origins maps a key to where its value comes from, for errors: "-addr", "STREAMWATCH_ADDR" or
// "config.yaml:3: addr". Keys with their default value are left out.
type origins map[string]string

// called returns the name of a key's value in errors.
func (o origins) called(key string) string { return cmp.Or(o[key], key) }

// unset is an environment variable in the configuration that is empty or not set.
type unset struct{ at, key, variable string }

// Error returns which variable must be set.
func (u unset) Error() string {
	return fmt.Sprintf("%s is missing: the environment variable %s is empty or not set", u.at, u.variable)
}

// isUnset reports whether the value of a key contains a variable that is not set.
func (c *config) isUnset(key string) bool {
	return slices.ContainsFunc(c.unset, func(u unset) bool { return u.key == key })
}

// unsetError returns an error for the variables that are not set in the values of the given keys. No
// keys means all keys.
func (c *config) unsetError(keys ...string) error {
	var all []error
	for _, u := range c.unset {
		if len(keys) == 0 || slices.Contains(keys, u.key) {
			all = append(all, u)
		}
	}
	return errors.Join(all...)
}

// serveFlags adds the flags for values that may also be flags or environment variables.
func serveFlags(f *command.Flags) {
	storeFlags(f)
	f.Setting("addr", "127.0.0.1:8080", "where to listen: `HOST:PORT`")
	f.Setting("platform", "", "what to watch: bluesky, or the `URL` of a Mastodon server; more of them are sources of the configuration file", "bluesky")
	f.Setting("demo", "false", "a fake platform, a key with credits, a database that is removed at the end")
	f.Setting("passive", "false", "poll and send only while no server on the same store lives that is not passive")
	f.Setting("log", "text", "how to write the log", "text", "json")
}

// noteKeys adds the keys of the configuration file to the help, by group.
func noteKeys(f *command.Flags) {
	var b strings.Builder
	for _, group := range []string{"Service", "Store", "Platforms", "Limits", "More"} {
		fmt.Fprintf(&b, "  %s\n", group)
		for i := range reflect.TypeFor[config]().NumField() {
			field := reflect.TypeFor[config]().Field(i)
			if of, text, _ := strings.Cut(field.Tag.Get("doc"), ": "); of == group {
				fmt.Fprintf(&b, "    %-15s %s\n", field.Tag.Get("yaml"), text)
			}
		}
	}
	f.Note("Keys of the configuration file beside these", strings.TrimRight(b.String(), "\n"))
}

// storeFlags are those of all commands that use the store.
func storeFlags(f *command.Flags) {
	f.Setting("config", "", "the configuration, a YAML `FILE`: see streamwatch check -h")
	f.Setting("db", "streamwatch.db", "the `STORE`: a SQLite file, or what servers share, postgres://USER@HOST/DATABASE or redis://HOST:PORT; see docs/operate.md")
}

// readConfig reads the flags, the environment and the configuration file. Each has precedence over the
// next. The error names all values that cannot be read. Variables that are not set are no error; they
// are in config.unset.
func readConfig(p process, f *command.Flags) (config, error) {
	c := config{
		Addr: "127.0.0.1:8080", DB: "streamwatch.db", Log: "text", Keyless: 10, Connections: 1000, Segment: "social",
		Drain: 2 * time.Second, StopTime: 15 * time.Second, from: origins{},
	}
	r := reader{env: p.Env, from: c.from}
	path, from := f.Given("config", p.Env)
	if path != "" {
		if err := r.file(path, &c); err != nil {
			return c, command.Usagef("%s: %w", from, err)
		}
	}
	for _, name := range f.Settings() {
		text, from := f.Given(name, p.Env)
		if name == "config" || from == "" {
			continue
		}
		c.from[name] = from
		into, _ := fieldOf(reflect.ValueOf(&c).Elem(), name)
		r.set(into, name, text)
	}
	if c.ClientAddress != "" && c.from["connections"] == "" {
		c.Connections = 0 // all are the proxy's
	}
	c.unset = r.unset
	if err := errors.Join(r.errs...); err != nil {
		return c, command.Usage(errors.Join(err, c.unsetError()))
	}
	return c, nil
}

// readServe reads what serve is asked for, and checks it.
func readServe(p process, f *command.Flags) (config, error) {
	c, err := readConfig(p, f)
	if err != nil {
		return c, err
	}
	if err := c.check(); err != nil {
		return c, command.Usage(errors.Join(err, c.unsetError()))
	}
	if c.Demo {
		c.AllowPrivate = c.AllowPrivate || c.from["allow-private"] == ""
		c.Operator = cmp.Or(c.Operator, demoOwner)
		c.Interval = cmp.Or(c.Interval, max(time.Second, c.MinInterval))
	}
	return c, nil
}

// maxSockets is the maximum for connections of an owner or address, as in wshub.Options.
const maxSockets = 1_000_000

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// refuse adds an error about the value of a key if wrong is true. It adds none if the value contains a
// variable that is not set.
type refuse func(wrong bool, key, format string, args ...any)

// check compares the values with each other and with their bounds. It returns all errors.
func (c *config) check() error {
	var all []error
	refuse := func(wrong bool, key, format string, args ...any) {
		if wrong && !c.isUnset(key) {
			all = append(all, fmt.Errorf("%s %w", c.from.called(key), fmt.Errorf(format, args...)))
		}
	}
	if c.Demo && c.Platform != "" || !c.Demo && c.Platform == "" && c.from["sources"] == "" {
		all = append(all, errors.New("want either -demo, -platform, such as -platform https://mastodon.social, or -config with sources"))
	}
	const wantAddress = "%q is not allowed: want host:port, such as 127.0.0.1:8080 or :8080"
	shortest := cmp.Or(c.MinInterval, time.Second)
	refuse(!isAddress(c.Addr), "addr", wantAddress, c.Addr)
	refuse(c.OpsAddr != "" && !isAddress(c.OpsAddr), "ops-addr", wantAddress, c.OpsAddr)
	refuse(c.Demo && c.from["db"] != "", "db", "is not allowed with demo: its file is removed at the end")
	refuse(c.Passive && !c.DB.Shared() && !c.isUnset("db"), "passive", "is not allowed: want it with a db that servers share, postgres://… or redis://…")
	refuse(c.Demo && c.SealKey != "", "seal-key", "is not allowed with demo: its receiver reads the secrets from the store")
	refuse(c.Platform != "" && c.Platform != "bluesky" && !isPlainURL(c.Platform, "http", "https"), "platform",
		"%q is not allowed: want bluesky, or http:// or https:// and the host of a Mastodon server", netguard.RedactURL(c.Platform))
	refuse((c.TLSCert == "") != (c.TLSKey == ""), "tls-cert", "%q and tls-key %q are not allowed: want both or neither", c.TLSCert, c.TLSKey)
	refuse(c.Log != "text" && c.Log != "json", "log", "%q is not allowed: want text or json", c.Log)
	refuse(c.MinInterval != 0 && (c.MinInterval < rule.MinInterval || c.MinInterval > rule.MaxInterval),
		"min-interval", "%s is not allowed: want %s to %s", c.MinInterval, rule.MinInterval, rule.MaxInterval)
	refuse(c.Interval != 0 && (c.Interval < shortest || c.Interval > monitor.MaxInterval),
		"interval", "%s is not allowed: want %s, see min-interval, to %s", c.Interval, shortest, monitor.MaxInterval)
	refuse(c.Drain < 0 || c.Drain > time.Minute, "drain", "%s is not allowed: want 0s to 1m", c.Drain)
	refuse(c.StopTime <= 0 || c.StopTime > time.Hour, "stop-time", "%s is not allowed: want more than 0s and at most 1h", c.StopTime)
	for key, n := range map[string]int{"monitors": c.Limits.Monitors, "rules": c.Limits.Rules, "webhooks": c.Limits.Webhooks, "accounts": c.Limits.Accounts, "websockets": c.Limits.WebSockets} {
		refuse(n < 0 || key == "websockets" && n > maxSockets, "limits."+key, "%d is not allowed: want 1 or more, websockets at most %d, or 0 for no bound", n, maxSockets)
	}
	refuse(c.Keyless < 1 || c.Keyless > maxSockets, "keyless", "%d is not allowed: want 1 to %d", c.Keyless, maxSockets)
	refuse(c.Connections < 0 || c.Connections > maxConnections, "connections", "%d is not allowed: want 1 to %d, or 0 for no bound", c.Connections, maxConnections)
	refuse(c.ClientAddress != "" && !headerName.MatchString(c.ClientAddress), "client-address", "%q is not allowed: want the name of a header, such as X-Forwarded-For", c.ClientAddress)
	for i, o := range c.Origins {
		err := enginehttp.CheckOrigin(o)
		refuse(err != nil, fmt.Sprintf("origins[%d]", i), "is not allowed: %w", err)
	}
	for i := range c.Sources {
		c.checkSource(i, refuse)
	}
	refuse(c.from["sources"] != "" && len(c.Sources) == 0, "sources", "is empty: want a source, or no such line")
	if err := c.DB.Check(); err != nil {
		refuse(true, "db", "%w", err)
	}
	slices.SortStableFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

// isAddress reports whether an address is host:port or :port with a valid port.
func isAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := net.LookupPort("tcp", port)
	return err == nil && n <= math.MaxUint16
}

const serveAbout = `Serve runs the service until it is told to stop, by an interrupt or SIGTERM; a second one ends it at once. SIGHUP
has it read tls-cert, tls-key, limits and connections again. To try it:

    streamwatch serve -demo

To watch real accounts:

    streamwatch serve -platform https://mastodon.social
    streamwatch key -owner me -credits 100000

Traces and metrics go where the standard variables of OpenTelemetry say: OTEL_EXPORTER_OTLP_ENDPOINT and
its like. Without them nothing is sent.`

// defineServe is the command serve.
func defineServe(f *command.Flags) command.Run {
	serveFlags(f)
	noteKeys(f)
	return func(ctx context.Context, p process) error {
		read := func() (config, error) {
			c, err := readServe(p, f)
			if err == nil && len(c.unset) > 0 {
				err = command.Usage(c.unsetError())
			}
			return c, err
		}
		c, err := read()
		if err == nil {
			err = serve(ctx, c, read, p.Out, p.Logs)
		}
		if err != nil && c.Log == "json" {
			logger(c, p.Logs).Error("streamwatch ends", "error", err)
			return logged{err}
		}
		return err
	}
}

// logged is an error that is in the log.
type logged struct{ error }

// Unwrap returns the error.
func (l logged) Unwrap() error { return l.error }
