package latencybench

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/command"
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

// define adds the flags. The returned options have their values after these are set.
func define(f *command.Flags) *options {
	o := &options{
		listen: "127.0.0.1:0", gap: 5 * time.Second, warmup: 5 * time.Second, wait: 30 * time.Second, webhook: "127.0.0.1:0",
		plan: plan{within: 10 * time.Minute, seed: 1, accounts: 20},
		self: self{mode: modePolling, interval: time.Second, store: "sqlite", nodes: 1},
	}
	f.Add(&o.listen, "listen", "`HOST:PORT` of the fake platform, which speaks Mastodon's API")
	f.Add(&o.command, "post", "make posts by this `COMMAND`, where {text} stands for the text, in place of the fake platform")
	f.Add(&o.gap, "gap", "least time between two posts of -post, 1s or more")
	f.Add(&o.plan.rate, "rate", "posts a second in the mean; without it 2, and 0.05 with -post")
	f.Add(&o.plan.posts, "posts", "at most so many; without it 300, and 30 with -post")
	f.Add(&o.plan.within, "for", "at most so long, up to 24h")
	f.Add(&o.plan.seed, "seed", "decides when posts are due, and by which account")
	f.Add(&o.plan.accounts, "accounts", "accounts of the fake platform, 1 to 10000")
	f.Add(&o.warmup, "warmup", "posts due in this time are not scored")
	f.Add(&o.wait, "wait", "what takes longer is lost; the run ends so long after its last post")
	f.Add(&o.after, "after", "wait so long before the first post")
	f.Add(&o.webhook, "webhook", "`HOST:PORT` to receive webhooks at, whatever their path; off for none")
	f.Add(&o.websocket, "websocket", "receive from this WebSocket, too, a `URL`; self for that of -detector self")
	f.Var(&o.headers, "websocket-header", "`NAME:VALUE` to connect with, where $NAME stands for a variable of the environment; may be repeated")
	f.Add(&o.self.detector, "detector", "starts streamwatch serve as the detector; without it none is started", "self")
	f.Add(&o.self.mode, "mode", "how -detector self finds posts", modes...)
	f.Add(&o.self.interval, "interval", "time between two polls of an account by -detector self, 100ms to 1h")
	f.Add(&o.self.store, "store", "store of -detector self: sqlite, a file that is removed at the end, or the redis:// `URL` of an empty database")
	f.Add(&o.self.nodes, "nodes", "processes of -detector self, which are a fleet on the store, 1 to 10")
	return o
}

// check checks the values and fills in what depends on others.
func (o *options) check(f *command.Flags) error {
	set := map[string]bool{}
	f.Visit(func(one *flag.Flag) { set[one.Name] = true })
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

func (s *self) check(o *options, set map[string]bool) error {
	s.on = s.detector == "self"
	switch {
	case !s.on && (set["mode"] || set["interval"] || set["store"] || set["nodes"]):
		return errors.New("-mode, -interval, -store and -nodes are of -detector self: want none without it")
	case !s.on:
		return nil
	case o.command != "":
		return errors.New("-detector self watches the fake platform alone: watch a real one with streamwatch serve, and give it the webhook")
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
