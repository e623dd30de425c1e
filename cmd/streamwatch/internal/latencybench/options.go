package latencybench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/detector"
)

// Env looks a variable of the environment up, as os.LookupEnv does.
type Env func(name string) (string, bool)

// Variables of the environment that hold secrets.
const (
	secretVariable   = "STREAMWATCH_BENCH_SECRET" // that the detector signs webhooks with
	keyVariable      = "STREAMWATCH_BENCH_KEY"    // for WebSocket clients of -detector self
	mastodonVariable = "MASTODON_TOKEN"
	handleVariable   = "BLUESKY_HANDLE"
	passwordVariable = "BLUESKY_APP_PASSWORD"
)

// Bounds of a run.
const (
	maxFor  = 24 * time.Hour
	maxWait = 6 * time.Hour
)

// options are what the command line says.
type options struct {
	plan     plan
	on       posting
	in       receiving
	self     self
	out      outputs
	warmup   time.Duration
	wait     time.Duration
	after    time.Duration     // before the first post
	settings map[string]string // as the record has them
}

// posting says where posts are made.
type posting struct {
	kind       string // fake, mastodon, bluesky or command
	listen     string
	server     string
	visibility string
	command    string
	gap        time.Duration
	delete     bool
}

// receiving says where they arrive.
type receiving struct {
	webhook   string // address to listen on, "off" for none
	signature string
	scheme    scheme
	websocket string // URL, "self" for that of -detector self, "" for none
	headers   headers
	hello     string
}

// outputs are files to write, "" for none.
type outputs struct {
	json, receipts, svg, key, title string
}

// try opens each file for writing, and leaves all as they were.
func (o *outputs) try() error {
	for _, f := range []struct{ name, path string }{{"receipts", o.receipts}, {"json", o.json}, {"svg", o.svg}} {
		if f.path == "" {
			continue
		}
		info, missing := os.Lstat(f.path)
		if missing == nil && info.Mode().Type()&(fs.ModeNamedPipe|fs.ModeDevice) != 0 {
			continue // whoever reads it would take the close for the end of the data
		}
		w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o644)
		if err == nil {
			err = w.Close()
		}
		if err == nil && missing != nil {
			err = os.Remove(f.path)
		}
		if err != nil {
			return fmt.Errorf("-%s %q is not allowed: %w", f.name, f.path, err)
		}
	}
	return nil
}

// headers are of the form name: value, where $NAME stands for a variable of the
// environment.
type headers []string

func (h *headers) String() string { return strings.Join(*h, ", ") }

func (h *headers) Set(s string) error {
	if name, _, ok := strings.Cut(s, ":"); !ok || strings.TrimSpace(name) == "" {
		return errors.New("want name: value")
	}
	*h = append(*h, s)
	return nil
}

// expand puts the variables' values in.
func (h headers) expand(env Env) (http.Header, error) {
	out := http.Header{}
	var missing error
	for _, line := range h {
		name, value, _ := strings.Cut(line, ":")
		value = os.Expand(strings.TrimSpace(value), func(variable string) string {
			v, ok := env(variable)
			if !ok {
				missing = fmt.Errorf("-websocket-header %s: the variable %s is not set", name, variable)
			}
			return v
		})
		out.Add(strings.TrimSpace(name), value)
	}
	return out, missing
}

// parse reads the command line.
func parse(args []string, help io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("streamwatch bench latency", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	o.postingFlags(fs)
	o.receivingFlags(fs)
	o.self.flags(fs)
	fs.StringVar(&o.out.json, "json", "", "write the figures to this `file`")
	fs.StringVar(&o.out.receipts, "receipts", "", "write what was posted and what arrived, signed, to this `file`: streamwatch bench verify reads it")
	fs.StringVar(&o.out.svg, "svg", "", "write a picture to this `file`")
	fs.StringVar(&o.out.key, "key", "", "sign receipts with the key in this `file`, which is made if it is not there (default: a key of this run)")
	fs.StringVar(&o.out.title, "title", "Publication to arrival", "what is measured, for the picture and the figures")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(help, usage)
			fs.SetOutput(help)
			fs.PrintDefaults()
			return o, err
		}
		return o, usageErr(err)
	}
	if fs.NArg() > 0 {
		return o, usageErr(fmt.Errorf("argument %q is not allowed: want flags only", fs.Arg(0)))
	}
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if err := o.check(set); err != nil {
		return o, usageErr(err)
	}
	o.settings = settingsOf(fs)
	return o, nil
}

const usage = `Measure how long after their publication posts arrive from a detector: of this
module (-detector self), or any other that calls webhooks or speaks WebSocket.
docs/latency-benchmark.md says how to measure a service, and what a figure needs
to be published.

    streamwatch bench latency -detector self -mode push
    streamwatch bench latency -listen :8081 -webhook :8082 -after 1m

The second waits for a minute, in which any detector that can watch a Mastodon
server is pointed at port 8081 and given port 8082 for its webhooks.

`

func (o *options) postingFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.on.kind, "on", "fake", "where posts are made: fake, a platform in this process; mastodon or bluesky, by the account that "+
		mastodonVariable+", or "+handleVariable+" and "+passwordVariable+", in the environment are of")
	fs.StringVar(&o.on.listen, "listen", "127.0.0.1:0", "`address` of the fake platform, which speaks Mastodon's API")
	fs.StringVar(&o.on.server, "server", "", "`URL` of the server that the account is on")
	fs.StringVar(&o.on.visibility, "visibility", "unlisted", "of posts on Mastodon: unlisted or public")
	fs.StringVar(&o.on.command, "post", "", "make posts by this `command`, where {text} stands for the text, instead of -on")
	fs.DurationVar(&o.on.gap, "gap", 5*time.Second, "least time between two posts of -post, 1s or more")
	fs.BoolVar(&o.on.delete, "delete", false, "delete the posts at the end")
	fs.StringVar(&o.plan.kind, "arrivals", "poisson", "when posts are due: poisson, bursts, or a `file` of recorded arrivals as package enginetest/arrivals reads it")
	fs.Float64Var(&o.plan.rate, "rate", 0, "posts a second in the mean; of a recording, how many of its seconds pass in one (default 2, and 0.05 on a foreign platform)")
	fs.IntVar(&o.plan.burst, "burst", 10, "posts at once, with -arrivals bursts")
	fs.IntVar(&o.plan.posts, "posts", 0, "at most so many (default 300, and 30 on a foreign platform)")
	fs.DurationVar(&o.plan.within, "for", 10*time.Minute, "at most so long, up to 24h")
	fs.Uint64Var(&o.plan.seed, "seed", 1, "decides when posts are due, and by which account")
	fs.IntVar(&o.plan.accounts, "accounts", 20, "accounts of the fake platform, 1 to 10000")
	fs.DurationVar(&o.warmup, "warmup", 5*time.Second, "posts due in this time are not scored")
	fs.DurationVar(&o.wait, "wait", 30*time.Second, "what takes longer is lost; the run ends so long after its last post")
	fs.DurationVar(&o.after, "after", 0, "wait so long before the first post")
}

func (o *options) receivingFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.in.webhook, "webhook", "127.0.0.1:0", "`address` to receive webhooks at, whatever their path; off for none")
	fs.StringVar(&o.in.signature, "signature", "auto", "how they are signed with the secret in "+secretVariable+": auto (X-Signature-256 or Standard Webhooks), or `algorithm:HEADER:encoding[:prefix]`")
	fs.StringVar(&o.in.websocket, "websocket", "", "receive from this WebSocket, too, a `URL`; self for that of -detector self")
	fs.Var(&o.in.headers, "websocket-header", "`name: value` to connect with, where $NAME stands for a variable of the environment; may be repeated")
	fs.StringVar(&o.in.hello, "websocket-hello", "", "first `message` to send on the WebSocket, such as a subscription")
}

// check checks the values and fills in what depends on others.
func (o *options) check(set map[string]bool) error {
	if o.on.command != "" {
		if set["on"] {
			return errors.New("-on and -post are not allowed together: want one of them")
		}
		o.on.kind = "command"
	}
	foreign := o.on.kind != "fake"
	if foreign {
		o.plan.accounts = 1
	}
	if !set["posts"] {
		o.plan.posts = 300
		if foreign {
			o.plan.posts = 30
		}
	}
	if !set["rate"] {
		o.plan.rate = 2
		if foreign {
			o.plan.rate = 0.05
		}
	}
	switch {
	case o.on.kind != "fake" && o.on.kind != "mastodon" && o.on.kind != "bluesky" && o.on.command == "":
		return fmt.Errorf("-on %q is not allowed: want fake, mastodon or bluesky", o.on.kind)
	case (o.on.kind == "mastodon" || o.on.kind == "bluesky") && o.on.server == "":
		return fmt.Errorf("-server is missing: want the URL of the %s server", o.on.kind)
	case foreign && (set["accounts"] || set["listen"]):
		return errors.New("-accounts and -listen are of the fake platform: want neither without it")
	case !foreign && (o.on.delete || o.on.server != ""):
		return errors.New("-delete and -server are not allowed on the fake platform: want -on mastodon or bluesky")
	case o.on.server != "" && !isServer(o.on.server):
		return errors.New("-server is not allowed: want https:// and a host, and no password")
	case o.on.visibility != "unlisted" && o.on.visibility != "public":
		return fmt.Errorf("-visibility %q is not allowed: want unlisted or public", o.on.visibility)
	case o.on.command != "" && !strings.Contains(o.on.command, "{text}"):
		return errors.New("-post is not allowed: want a command with {text}, where the text of a post goes")
	case o.on.gap < time.Second:
		return fmt.Errorf("-gap %s is not allowed: want 1s or more", o.on.gap)
	case o.on.command != "" && o.on.server != "":
		return errors.New("-server is not allowed with -post: posts are made by the command")
	case o.on.command != "" && o.on.delete:
		return errors.New("-delete is not allowed with -post: posts are made by the command")
	case !(o.plan.rate > 0 && o.plan.rate <= 10_000):
		return fmt.Errorf("-rate %v is not allowed: want more than 0, up to 10000", o.plan.rate)
	case o.plan.burst < 1 || o.plan.burst > 1000:
		return fmt.Errorf("-burst %d is not allowed: want 1 to 1000", o.plan.burst)
	case o.plan.posts < 1:
		return fmt.Errorf("-posts %d is not allowed: want 1 or more", o.plan.posts)
	case o.plan.accounts < 1 || o.plan.accounts > 10_000:
		return fmt.Errorf("-accounts %d is not allowed: want 1 to 10000", o.plan.accounts)
	case o.plan.within <= 0 || o.plan.within > maxFor:
		return fmt.Errorf("-for %s is not allowed: want up to %s", o.plan.within, maxFor)
	case o.warmup < 0 || o.warmup >= o.plan.within:
		return fmt.Errorf("-warmup %s is not allowed: want less than -for", o.warmup)
	case o.wait < time.Millisecond || o.wait > maxWait:
		return fmt.Errorf("-wait %s is not allowed: want 1ms to %s", o.wait, maxWait)
	case o.after < 0 || o.after > time.Hour:
		return fmt.Errorf("-after %s is not allowed: want 0 to 1h", o.after)
	case o.in.webhook == "off" && o.in.websocket == "":
		return errors.New("-webhook off is not allowed without -websocket: nothing could arrive")
	case o.in.websocket == "self" && o.self.detector != "self":
		return errors.New("-websocket self is not allowed without -detector self")
	}
	for _, one := range []struct {
		name string
		has  bool   // what it needs is given
		of   string // what is missing or in its way
	}{
		{"burst", o.plan.kind == "bursts", "without -arrivals bursts"},
		{"gap", o.on.command != "", "without -post"},
		{"visibility", o.on.kind == "mastodon", "without -on mastodon"},
		{"signature", o.in.webhook != "off", "with -webhook off"},
		{"websocket-header", o.in.websocket != "", "without -websocket"},
		{"websocket-hello", o.in.websocket != "", "without -websocket"},
	} {
		if set[one.name] && !one.has {
			return fmt.Errorf("-%s is not allowed %s: nothing would come of it", one.name, one.of)
		}
	}
	if o.in.websocket != "" && o.in.websocket != "self" {
		if u, err := url.Parse(o.in.websocket); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
			return errors.New("-websocket is not allowed: want ws:// or wss:// and a host, or self")
		}
	}
	var err error
	if o.in.scheme, err = parseScheme(o.in.signature); err != nil {
		return err
	}
	return o.self.check(o, set)
}

// isServer reports whether posts can be made at an address.
func isServer(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && (u.Scheme == "https" || u.Scheme == "http")
}

// settingsOf are the flags as the record has them: without what may hold a secret.
func settingsOf(fs *flag.FlagSet) map[string]string {
	out := map[string]string{}
	fs.VisitAll(func(f *flag.Flag) {
		v := f.Value.String()
		switch f.Name {
		case "json", "receipts", "svg", "key", "websocket-hello":
			return
		case "post":
			v = map[bool]string{true: "a command"}[v != ""]
		case "store":
			v, _, _ = strings.Cut(v, ":")
		case "websocket-header":
			var names []string
			for _, line := range *f.Value.(*headers) {
				name, _, _ := strings.Cut(line, ":")
				names = append(names, name)
			}
			v = strings.Join(names, ", ")
		case "websocket":
			v = bareURL(v)
		}
		out[f.Name] = v
	})
	return out
}

// bareURL is a URL without user, query and fragment, which may hold a token.
func bareURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// self is the detector of this module.
type self struct {
	detector string
	on       bool
	mode     string
	interval time.Duration
	store    string
	nodes    int
}

func (s *self) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.detector, "detector", "", "self starts this module's engine as the detector, in processes of its own (default: none is started)")
	fs.StringVar(&s.mode, "mode", detector.Polling, "how -detector self finds posts: "+strings.Join(detector.Modes, ", "))
	fs.DurationVar(&s.interval, "interval", time.Second, "time between two polls of an account by -detector self, 50ms to 1h")
	fs.StringVar(&s.store, "store", "sqlite", "store of -detector self: sqlite, a file that is removed at the end; memory; or a redis:// `URL`")
	fs.IntVar(&s.nodes, "nodes", 1, "processes of -detector self, which are a fleet on the store, 1 to 10")
}

func (s *self) check(o *options, set map[string]bool) error {
	s.on = s.detector == "self"
	switch {
	case s.detector != "" && !s.on:
		return fmt.Errorf("-detector %q is not allowed: want self, or none", s.detector)
	case !s.on && (set["mode"] || set["interval"] || set["store"] || set["nodes"]):
		return errors.New("-mode, -interval, -store and -nodes are of -detector self: want none without it")
	case !s.on:
		return nil
	case o.on.kind != "fake":
		return errors.New("-detector self watches the fake platform alone: watch a real one with streamwatch serve, and give it the webhook")
	case o.in.signature != "auto":
		return errors.New("-signature is not allowed with -detector self")
	case s.nodes < 1 || s.nodes > 10:
		return fmt.Errorf("-nodes %d is not allowed: want 1 to 10", s.nodes)
	case s.store != "sqlite" && s.store != "memory" && !strings.HasPrefix(s.store, "redis://"):
		return errors.New("-store is not allowed: want sqlite, memory or redis://host:port")
	case o.in.webhook == "off":
		return errors.New("-webhook off is not allowed with -detector self")
	}
	c := detector.Config{Mode: s.mode, Interval: s.interval, Accounts: o.plan.accounts, Store: s.store}
	if s.nodes > 1 {
		c.Node = "1"
	}
	return c.Check()
}
