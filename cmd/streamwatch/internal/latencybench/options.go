package latencybench

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Env looks a variable of the environment up, as os.LookupEnv does.
type Env func(name string) (string, bool)

// secretVariable is the environment variable with the detector's webhook secret.
const secretVariable = "STREAMWATCH_BENCH_SECRET"

// Bounds of a run.
const (
	maxFor  = 24 * time.Hour
	maxWait = 6 * time.Hour
)

// options are what the command line says.
type options struct {
	plan      plan
	self      self
	listen    string // of the fake platform
	command   string // that posts, "" for the fake platform
	gap       time.Duration
	webhook   string // address to listen on, "off" for none
	websocket string // URL; "self" for the one of -detector self; "" for none
	headers   headers
	warmup    time.Duration
	wait      time.Duration
	after     time.Duration // before the first post
}

// headers have the form name: value. $NAME in them is an environment variable.
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
	o.flags(fs)
	o.self.flags(fs)
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

func (o *options) flags(fs *flag.FlagSet) {
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the fake platform, which speaks Mastodon's API")
	fs.StringVar(&o.command, "post", "", "make posts by this `command`, where {text} stands for the text, in place of the fake platform")
	fs.DurationVar(&o.gap, "gap", 5*time.Second, "least time between two posts of -post, 1s or more")
	fs.Float64Var(&o.plan.rate, "rate", 0, "posts a second in the mean (default 2, and 0.05 with -post)")
	fs.IntVar(&o.plan.posts, "posts", 0, "at most so many (default 300, and 30 with -post)")
	fs.DurationVar(&o.plan.within, "for", 10*time.Minute, "at most so long, up to 24h")
	fs.Uint64Var(&o.plan.seed, "seed", 1, "decides when posts are due, and by which account")
	fs.IntVar(&o.plan.accounts, "accounts", 20, "accounts of the fake platform, 1 to 10000")
	fs.DurationVar(&o.warmup, "warmup", 5*time.Second, "posts due in this time are not scored")
	fs.DurationVar(&o.wait, "wait", 30*time.Second, "what takes longer is lost; the run ends so long after its last post")
	fs.DurationVar(&o.after, "after", 0, "wait so long before the first post")
	fs.StringVar(&o.webhook, "webhook", "127.0.0.1:0", "`address` to receive webhooks at, whatever their path; off for none")
	fs.StringVar(&o.websocket, "websocket", "", "receive from this WebSocket, too, a `URL`; self for that of -detector self")
	fs.Var(&o.headers, "websocket-header", "`name: value` to connect with, where $NAME stands for a variable of the environment; may be repeated")
}

// check checks the values and fills in what depends on others.
func (o *options) check(set map[string]bool) error {
	if !set["posts"] {
		o.plan.posts = map[bool]int{true: 30, false: 300}[o.command != ""]
	}
	if !set["rate"] {
		o.plan.rate = map[bool]float64{true: 0.05, false: 2}[o.command != ""]
	}
	if o.command != "" {
		o.plan.accounts = 1
	}
	switch {
	case o.command != "" && (set["accounts"] || set["listen"]):
		return errors.New("-accounts and -listen are of the fake platform: want neither with -post")
	case o.command != "" && !strings.Contains(o.command, textPlace):
		return errors.New("-post is not allowed: want a command with {text}, where the text of a post goes")
	case o.gap < time.Second || set["gap"] && o.command == "":
		return fmt.Errorf("-gap %s is not allowed: want 1s or more, and -post", o.gap)
	case !(o.plan.rate > 0 && o.plan.rate <= 10_000):
		return fmt.Errorf("-rate %v is not allowed: want more than 0, up to 10000", o.plan.rate)
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
	case o.webhook == "off" && o.websocket == "":
		return errors.New("-webhook off is not allowed without -websocket: nothing could arrive")
	case o.websocket == "self" && o.self.detector != "self":
		return errors.New("-websocket self is not allowed without -detector self")
	case o.websocket == "" && len(o.headers) > 0:
		return errors.New("-websocket-header is not allowed without -websocket")
	}
	if o.websocket != "" && o.websocket != "self" {
		if u, err := url.Parse(o.websocket); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
			return errors.New("-websocket is not allowed: want ws:// or wss:// and a host, or self")
		}
	}
	return o.self.check(o, set)
}

// self is streamwatch serve as the detector.
type self struct {
	detector string
	on       bool
	mode     string
	interval time.Duration
	store    string
	nodes    int
}

func (s *self) flags(fs *flag.FlagSet) {
	fs.StringVar(&s.detector, "detector", "", "self starts streamwatch serve as the detector (default: none is started)")
	fs.StringVar(&s.mode, "mode", modePolling, "how -detector self finds posts: "+strings.Join(modes, ", "))
	fs.DurationVar(&s.interval, "interval", time.Second, "time between two polls of an account by -detector self, 100ms to 1h")
	fs.StringVar(&s.store, "store", "sqlite", "store of -detector self: sqlite, a file that is removed at the end, or the redis:// `URL` of an empty database")
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
	case o.command != "":
		return errors.New("-detector self watches the fake platform alone: watch a real one with streamwatch serve, and give it the webhook")
	case !slices.Contains(modes, s.mode):
		return fmt.Errorf("-mode %q is not allowed: want one of %s", s.mode, strings.Join(modes, ", "))
	case s.interval < shortest || s.interval > time.Hour:
		return fmt.Errorf("-interval %s is not allowed: want %s to 1h", s.interval, shortest)
	case s.nodes < 1 || s.nodes > 10:
		return fmt.Errorf("-nodes %d is not allowed: want 1 to 10", s.nodes)
	case s.store != "sqlite" && !strings.HasPrefix(s.store, "redis://"):
		return errors.New("-store is not allowed: want sqlite, or redis://[user:password@]host:port[/database]")
	case s.nodes > 1 && s.store == "sqlite":
		return fmt.Errorf("-store %s is not allowed for several nodes: want redis://host:port", s.store)
	case o.webhook == "off":
		return errors.New("-webhook off is not allowed with -detector self")
	}
	return nil
}
