package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/secret"
)

// config has the values of the command serve: from its flags, the environment and the
// configuration file.
type config struct {
	stored
	listening
	platforms
	pace
	stopping
	logging
	secrets
	unset        []unset
	file         string // of the configuration
	segment      string
	quotas       streamwatch.Quotas
	allowPrivate bool
}

// listening is where the service is reached, and by whom.
type listening struct {
	addr, tlsCert, tlsKey, opsAddr string
	metrics                        bool
	origins                        originList
	operator                       string // an owner
	clientAddress                  string // the header that has it
	keyless                        int
}

// originList are origins with commas between them.
type originList []string

// String implements flag.Value.
func (l *originList) String() string { return strings.Join(*l, ",") }

// Set implements flag.Value.
func (l *originList) Set(v string) error {
	*l = strings.Split(v, ",")
	for _, o := range *l {
		if err := enginehttp.CheckOrigin(o); err != nil {
			return err
		}
	}
	return nil
}

// pace is how often accounts are polled.
type pace struct {
	interval, minInterval time.Duration
	perSecond             float64
	burst                 int
}

// stopping is how long what is under way goes on.
type stopping struct{ drain, stopTime time.Duration }

// logging is what the log is like.
type logging struct {
	logFormat string
	logLevel  slog.Level
}

// platforms are what the service watches.
type platforms struct {
	demo                   bool
	platform, appView, pds string
	sources                []sourceFlag
}

// quotaFlag is a bound of what an owner may have.
type quotaFlag struct {
	name, what string
	n          *int
}

func quotaFlags(q *streamwatch.Quotas) []quotaFlag {
	return []quotaFlag{
		{"monitors", "monitors", &q.Monitors}, {"rules", "filter rules", &q.Rules},
		{"webhooks", "webhooks", &q.Endpoints}, {"accounts", "accounts in its monitors", &q.Accounts},
		{"websockets", "WebSocket connections", &q.Connections},
	}
}

// flags adds the flags of serve; sources gets the values of -source.
func (c *config) flags(fs flags, sources *texts) {
	c.stored.flags(fs)
	fs.Lookup("db").Usage += "; with -demo one that is removed at the end"
	fs.StringVar(&c.file, "config", "", "configuration `file`, in YAML: its keys are the names of these flags, which go before it; see streamwatch check -h")
	fs.StringVar(&c.addr, "addr", "127.0.0.1:8080", "listen here")
	fs.BoolVar(&c.fleet, "fleet", false, "share the work with the other servers on the same -redis or -db that have -fleet, too")
	fs.StringVar(&c.node, "node", "", "with -fleet: the server's `name`, which no other has (default: the host's name and the process's number)")
	fs.StringVar(&c.tlsCert, "tls-cert", "", "certificate `file` (PEM); with -tls-key, serve HTTPS")
	fs.StringVar(&c.tlsKey, "tls-key", "", "key `file` (PEM)")
	fs.StringVar(&c.opsAddr, "ops-addr", "", "serve /metrics, /livez and /readyz here, until the very end")
	fs.BoolVar(&c.metrics, "metrics", false, "serve /metrics on -addr, too, to everybody (on with -demo)")
	fs.DurationVar(&c.drain, "drain", 2*time.Second, "when told to stop, go on for so long while /readyz says no")
	fs.DurationVar(&c.stopTime, "stop-time", 15*time.Second, "then let requests and deliveries under way go on for so long before they are cut")
	fs.Var(&c.origins, "origins", "let pages of these origins use the service from browsers: https://app.example.com,… (default none)")
	fs.StringVar(&c.operator, "operator", "", "the `owner` whose admin keys see all owners, and the engine, in the console at /console/ (default nobody; with -demo the key's)")
	fs.StringVar(&c.clientAddress, "client-address", "", "the `header` whose last word is the client's address, such as X-Forwarded-For, by which wrong keys at /console/login are counted; only behind a proxy that sets it")
	fs.IntVar(&c.keyless, "keyless", 10, "WebSocket connections from one address that may wait to show their key; more behind a proxy")
	for _, q := range quotaFlags(&c.quotas) {
		fs.IntVar(q.n, "max-"+q.name, 0, "`number` of "+q.what+" that an owner may have (default no bound)")
	}
	fs.BoolVar(&c.demo, "demo", false, "a fake platform, a key with credits, a file that is removed at the end")
	fs.StringVar(&c.platform, "platform", "", "what to watch: bluesky, or the `URL` of a Mastodon server; not with -demo")
	fs.StringVar(&c.appView, "appview", "", "with -platform bluesky: ask this AppView instead of the public one, a `URL`; not with -pds")
	fs.StringVar(&c.pds, "pds", "", "with -platform bluesky: read the accounts' records from this PDS instead of an AppView, a `URL`; not with -appview")
	fs.Var(sources, "source", sourceUsage)
	fs.StringVar(&c.segment, "segment", "social", "the word after /v1 in the paths")
	fs.DurationVar(&c.interval, "interval", 0, "time between two polls of an account, -min-interval or more (default 60s, with -demo 1s)")
	fs.DurationVar(&c.minInterval, "min-interval", 0, "shortest interval that a monitor or rule may ask for, 100ms or more (default 1s for monitors, 100ms for rules)")
	fs.Float64Var(&c.perSecond, "calls", 0, "spend so many upstream calls a second where they find posts earliest; -interval is then the longest time between two polls")
	fs.IntVar(&c.burst, "burst", 0, "with -calls: save up to so many calls while no account is due, for when many post at once; the platform must allow so many at once (default 10ms' worth, which saves none)")
	fs.BoolVar(&c.allowPrivate, "allow-private", false, "let webhooks and pages be http:// and in private networks (on with -demo)")
	fs.StringVar(&c.logFormat, "log", "text", "text or json")
	fs.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error")
}

// parseServe reads what the command serve is asked for.
func parseServe(p process, args []string) (config, error) {
	c, err := readConfig(p, args, newFlags("serve", "Serve runs the service until it is told to stop, by an interrupt or SIGTERM."))
	if err == nil && len(c.unset) > 0 {
		err = usageError{c.unsetError()}
	}
	return c, err
}

// readConfig reads the command line, the environment and the configuration file; each has
// precedence over the next. Its error has all that is wrong. Variables that are named for
// secrets and are not set are no error: they are in unset.
func readConfig(p process, args []string, fs flags) (c config, err error) {
	sources := &texts{}
	c.flags(fs, sources)
	if c.from, err = fs.fill(p, args); err != nil {
		return c, err
	}
	for name, value := range c.secrets.values() {
		if v, ok := p.env(variable(name)); ok && v != "" {
			*value, c.from[name] = secret.Value(v), variable(name)
		}
	}
	file := &configFile{}
	if c.file != "" {
		if file, err = readConfigFile(c.file); err != nil {
			return c, usageError{fmt.Errorf("%s: %w", c.from.called("config"), err)}
		}
	}
	c.sources, err = file.apply(fs, c.secrets.values(), c.from, p.env)
	c.unset = file.unset
	if len(*sources) > 0 {
		var missing []unset
		var wrong error
		c.sources, missing, wrong = parseSources(c.from.called("source"), *sources, p.env)
		c.unset = append(c.unset, missing...)
		err = errors.Join(err, wrong)
	}
	if err = errors.Join(err, c.check()); err != nil {
		return c, usageError{errors.Join(err, c.unsetError())}
	}
	if c.demo {
		c.forDemo()
	}
	return c, nil
}

// forDemo sets what has another default with -demo.
func (c *config) forDemo() {
	c.allowPrivate = c.allowPrivate || c.from["allow-private"] == ""
	c.metrics = c.metrics || c.from["metrics"] == ""
	c.operator = cmp.Or(c.operator, demoOwner)
	c.interval = cmp.Or(c.interval, max(time.Second, c.minInterval))
}

// shortest is the least interval of a monitor.
func (c *config) shortest() time.Duration {
	if c.minInterval > 0 {
		return c.minInterval
	}
	return time.Second
}

// maxSockets is the most connections of an owner or address, as of wshub.Options.
const maxSockets = 1_000_000

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// check compares the values with each other and with their bounds, and returns all that
// is wrong.
func (c *config) check() error {
	var all []error
	refuse := func(wrong bool, name, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf("%s %w", c.from.called(name), fmt.Errorf(format, args...)))
		}
	}
	if c.demo && c.platform != "" || !c.demo && c.platform == "" && len(c.sources) == 0 && c.from["source"] == "" {
		all = append(all, errors.New("want either -demo or -platform, such as -platform https://mastodon.social, or -source"))
	}
	stores := c.stored
	if c.isUnset("redis") {
		stores.redis = "not set" // named all the same
	}
	all = append(all, stores.check())
	refuse(c.demo && c.from["db"] != "" && c.db != "" && c.redis == "", "db", "is not allowed with -demo: its file is removed at the end")
	refuse((c.token != "" || c.isUnset("token")) && (c.platform == "" || c.platform == "bluesky"), "token",
		"is not allowed: it needs -platform with the URL of a Mastodon server; a -source names the variable of its own")
	refuse(c.demo && c.fleet, "fleet", "is not allowed with -demo: its file and its platform are of one process")
	const wantAddress = "%q is not allowed: want host:port, such as 127.0.0.1:8080 or :8080"
	refuse(!isAddress(c.addr), "addr", wantAddress, c.addr)
	refuse(c.opsAddr != "" && !isAddress(c.opsAddr), "ops-addr", wantAddress, c.opsAddr)
	refuse(c.node != "" && !c.fleet, "node", "%q is not allowed without -fleet", c.node)
	refuse(c.appView != "" && c.platform != "bluesky", "appview", "%q is not allowed: it needs -platform bluesky", netguard.RedactURL(c.appView))
	refuse(c.pds != "" && c.platform != "bluesky", "pds", "%q is not allowed: it needs -platform bluesky", netguard.RedactURL(c.pds))
	refuse(c.appView != "" && c.pds != "", "appview", "%q is not allowed with -pds: want one of them", netguard.RedactURL(c.appView))
	refuse(c.tlsCert != "" && c.tlsKey == "", "tls-cert", "%q is not allowed without -tls-key: want both or neither", c.tlsCert)
	refuse(c.tlsCert == "" && c.tlsKey != "", "tls-key", "%q is not allowed without -tls-cert: want both or neither", c.tlsKey)
	refuse(c.logFormat != "text" && c.logFormat != "json", "log", "%q is not allowed: want text or json", c.logFormat)
	refuse(c.demo && c.sealKey != "", "seal-key", "is not allowed with -demo: its receiver reads the secrets from the store")
	refuse(c.minInterval != 0 && (c.minInterval < rule.MinInterval || c.minInterval > rule.MaxInterval),
		"min-interval", "%s is not allowed: want %s to %s", c.minInterval, rule.MinInterval, rule.MaxInterval)
	refuse(c.interval != 0 && (c.interval < c.shortest() || c.interval > monitor.MaxInterval),
		"interval", "%s is not allowed: want %s, see -min-interval, to %s", c.interval, c.shortest(), monitor.MaxInterval)
	refuse(c.drain < 0 || c.drain > time.Minute, "drain", "%s is not allowed: want 0s to 1m", c.drain)
	refuse(c.stopTime <= 0 || c.stopTime > time.Hour, "stop-time", "%s is not allowed: want more than 0s and at most 1h", c.stopTime)
	for _, q := range quotaFlags(&c.quotas) {
		refuse(*q.n < 0, "max-"+q.name, "%d is not allowed: want 1 or more, or 0 for no bound", *q.n)
	}
	refuse(c.quotas.Connections > maxSockets, "max-websockets", "%d is not allowed: want at most %d, or 0 for no bound", c.quotas.Connections, maxSockets)
	refuse(c.keyless < 1 || c.keyless > maxSockets, "keyless", "%d is not allowed: want 1 to %d", c.keyless, maxSockets)
	refuse(c.clientAddress != "" && !headerName.MatchString(c.clientAddress), "client-address", "%q is not allowed: want the name of a header, such as X-Forwarded-For", c.clientAddress)
	refuse(!(c.perSecond >= 0 && c.perSecond <= maxCalls), "calls", "%g is not allowed: want more than 0 and at most %d", c.perSecond, maxCalls)
	refuse(c.burst < 0 || c.burst > maxCalls, "burst", "%d is not allowed: want 1 to %d calls", c.burst, maxCalls)
	refuse(c.burst > 0 && c.perSecond == 0, "burst", "%d is not allowed without calls a second: want -calls as well", c.burst)
	if len(c.sources) > 0 {
		refuse(c.perSecond > 0 && !c.demo && c.platform == "", "calls", "%g is not allowed with -source alone: want its option calls, such as -source %s=%s,calls=%[1]g",
			c.perSecond, c.sources[0].name, c.sources[0].kind)
	}
	if c.redis != "" {
		_, err := redisOptions(c.redis)
		refuse(err != nil, "redis", "%w", err)
	}
	return errors.Join(all...)
}

// isAddress reports whether an address is host:port, or :port, with a port that exists.
func isAddress(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := net.LookupPort("tcp", port)
	return err == nil && n <= math.MaxUint16
}
