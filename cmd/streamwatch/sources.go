package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/fetcher/remote"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
)

// source is one of several platforms. Its accounts have names of the form NAME:ACCOUNT. The tags are
// the keys of the configuration file.
type source struct {
	Name     string       `yaml:"name"`
	Kind     string       `yaml:"kind"`
	URL      string       `yaml:"url"`
	Token    secret.Value `yaml:"token"`
	PDS      bool         `yaml:"pds"`    // url is the address of a PDS, not of an AppView
	Calls    float64      `yaml:"calls"`  // a second, 0 for intervals
	Burst    int          `yaml:"burst"`  // calls at once, 0 for the default
	Probe    float64      `yaml:"probe"`  // probes a second, 0 for none
	Stream   bool         `yaml:"stream"` // posts are pushed
	StreamAt string       `yaml:"stream-url"`
	Audience string       `yaml:"visibility"` // see mastodon.Config
	Rules    bool         `yaml:"rules"`      // a stream of queries
	Limit    float64      `yaml:"limit"`      // dollars a day, 0 for no bound
	Contact  string       `yaml:"contact"`    // see feed.Config
	Memory   string       `yaml:"memory"`     // see feed.Config
	Callback string       `yaml:"callback"`   // where WebSub hubs reach the service
	Secret   secret.Value `yaml:"secret"`     // of WebSub
	// MinInterval is the shortest time between two polls of an account, 0 for none; of feeds
	// leastFeed for 0.
	MinInterval time.Duration `yaml:"min-interval"`
}

// leastFeed is the shortest time between two polls of a feed. Publishers take shorter ones amiss.
const leastFeed = 5 * time.Minute

// sourceKinds maps each kind to its keys, in addition to name, kind, calls, burst and min-interval.
// Keys with a ! are required.
var sourceKinds = map[string][]string{
	"bluesky":  {"url", "pds", "probe", "stream", "stream-url"},
	"mastodon": {"url!", "token", "visibility", "probe", "stream", "stream-url"},
	"remote":   {"url!", "token!", "stream"},
	"x":        {"url", "token!", "probe", "stream", "rules", "limit"},
	"feed":     {"contact", "memory", "callback", "secret"},
	"fake":     {"probe", "stream"},
}

// Bounds of detect.Config and detect.Cost.
const (
	maxCalls = 1_000_000
	maxLimit = 1_000_000_000
)

// sourceName is what streamwatch.Source.Name allows.
var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// checkSource refuses what is wrong with a source.
func (c *config) checkSource(i int, refuse refuse) {
	s, at := &c.Sources[i], fmt.Sprintf("sources[%d]", i)
	has := func(key string) bool { return c.from[at+"."+key] != "" }
	refuse(!sourceName.MatchString(s.Name) || s.Name == "did", at+".name",
		`%.40q is not allowed: want 1 to 32 lower-case letters, digits, "-" and "_", the first a letter, and not "did"`, s.Name)
	refuse(slices.ContainsFunc(c.Sources[:i], func(o source) bool { return o.Name == s.Name }), at+".name", "%q is not allowed twice", s.Name)
	keys, ok := sourceKinds[s.Kind]
	if !ok {
		refuse(true, at+".kind", "%.40q is not allowed: want %s", s.Kind, strings.Join(slices.Sorted(maps.Keys(sourceKinds)), ", "))
		return
	}
	allowed := []string{"name", "kind", "calls", "burst"}
	for _, key := range keys {
		key, required := strings.CutSuffix(key, "!")
		refuse(required && !has(key), at, "is not allowed: a source of the kind %s wants %s", s.Kind, key)
		allowed = append(allowed, key)
	}
	allowed = append(allowed, "min-interval")
	for i := range reflect.TypeFor[source]().NumField() {
		key := reflect.TypeFor[source]().Field(i).Tag.Get("yaml")
		refuse(has(key) && !slices.Contains(allowed, key), at+"."+key, "is not allowed: a source of the kind %s has %s", s.Kind, strings.Join(allowed, ", "))
	}
	for key, u := range map[string]struct {
		value   string
		schemes []string
	}{"url": {s.URL, []string{"http", "https"}}, "stream-url": {s.StreamAt, []string{"ws", "wss"}}, "callback": {s.Callback, []string{"https"}}} {
		refuse(has(key) && !isPlainURL(u.value, u.schemes...), at+"."+key, "%q is not allowed: want %s:// and a host, and no password in it",
			netguard.RedactURL(u.value), strings.Join(u.schemes, ":// or "))
	}
	refuse(has("calls") && !(s.Calls > 0 && s.Calls <= maxCalls), at+".calls", "%g is not allowed: want more than 0 and at most %d calls a second", s.Calls, maxCalls)
	refuse(has("min-interval") && (s.MinInterval < time.Second || s.MinInterval > monitor.MaxInterval), at+".min-interval",
		"%s is not allowed: want 1s to %s", s.MinInterval, monitor.MaxInterval)
	refuse(has("probe") && !(s.Probe > 0 && s.Probe <= maxCalls), at+".probe", "%g is not allowed: want more than 0 and at most %d probes a second", s.Probe, maxCalls)
	refuse(has("burst") && (s.Burst < 1 || s.Burst > maxCalls || s.Calls == 0), at+".burst", "%d is not allowed: want 1 to %d calls, and calls with how many a second", s.Burst, maxCalls)
	refuse(has("limit") && !(s.Limit > 0 && s.Limit <= maxLimit), at+".limit", "%g is not allowed: want more than 0 and at most %d dollars a day", s.Limit, maxLimit)
	refuse(s.PDS && (!has("url") || has("probe")), at+".pds", "is not allowed: want the url of the PDS, and no probe, as a PDS has no profiles to ask for")
	refuse(s.Kind == "mastodon" && s.Stream && !has("token"), at+".stream", "is not allowed: want the token of a user who follows the accounts")
	refuse(has("callback") != has("secret"), at, "is not allowed: want both callback and secret, or neither")
}

// isPlainURL reports whether a text is a URL with one of the schemes and without user and password,
// which would be logged.
func isPlainURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Host != "" && u.User == nil
}

// openSources opens the sources. hooks maps paths to the handlers that WebSub hubs call.
func openSources(c config, log *slog.Logger) (all []streamwatch.Source, hooks map[string]http.Handler, err error) {
	hooks = map[string]http.Handler{}
	for i, f := range c.Sources {
		at := fmt.Sprintf("sources[%d]", i)
		s, err := f.open(c.AllowPrivate, log.With("source", f.Name))
		if err != nil {
			words := map[string]string{}
			for field, key := range sourceFields {
				words[field] = c.from.called(at + "." + key)
			}
			if err, ok := inWords(err, words); ok {
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("%s: %w", c.from.called(at), err)
		}
		all = append(all, s)
		if hook, ok := s.Roles.Stream.(http.Handler); ok {
			p := f.hookPath()
			if hooks[p] != nil || !isHookPath(p) {
				return nil, nil, fmt.Errorf("%s with the path %q is not allowed: want one of its own, outside of /v1 and /console, without empty parts, dots alone, white space, {, } and %%", c.from.called(at+".callback"), p)
			}
			hooks[p] = hook
		}
	}
	return all, hooks, nil
}

// isHookPath reports whether a path can be the path of a hub's callback. The service must not use it,
// and as a pattern of http.ServeMux it must match itself. Invalid patterns make ServeMux panic.
func isHookPath(p string) bool {
	return p != "/" && !strings.HasPrefix(p, "/v1/") && !strings.HasPrefix(p, "/console/") && path.Clean(p)+"/" == p &&
		!strings.ContainsFunc(p, func(r rune) bool { return strings.ContainsRune("{}%", r) || unicode.IsSpace(r) || unicode.IsControl(r) })
}

// sourceFields maps fields of the adapters' Configs to the keys that set them.
var sourceFields = map[string]string{
	"BaseURL": "url", "ReposConfig.PDS": "url", "Token": "token", "Visibility": "visibility", "Contact": "contact",
	"JetstreamConfig.URL": "stream-url", "StreamConfig.StreamingURL": "stream-url", "WebSubConfig.Callback": "callback", "WebSubConfig.Secret": "secret",
}

// hookPath returns the path of the callback as a pattern for all paths below it.
func (f *source) hookPath() string {
	u, err := url.Parse(f.Callback)
	if err != nil {
		return "/"
	}
	return strings.TrimSuffix(u.Path, "/") + "/"
}

func (f *source) open(allowPrivate bool, log *slog.Logger) (streamwatch.Source, error) {
	s := streamwatch.Source{Name: f.Name}
	var err error
	switch f.Kind {
	case "bluesky":
		err = f.bluesky(&s)
	case "mastodon":
		err = f.mastodon(&s)
	case "remote":
		err = f.remote(&s)
	case "x":
		err = f.x(&s, log)
	case "feed":
		err = f.feed(&s, allowPrivate, log)
	case "fake":
		f.fake(&s)
	}
	s.Detect.ProbeRate, s.Detect.MinInterval = f.Probe, f.least()
	if f.Calls > 0 {
		s.Detect.Pace, s.Detect.FetchRate, s.Detect.FetchBurst = detect.PaceBudget, f.Calls, f.Burst
	}
	return s, err
}

// least returns the shortest time between two polls of an account, 0 for none.
func (f *source) least() time.Duration {
	if f.Kind == "feed" {
		return cmp.Or(f.MinInterval, leastFeed)
	}
	return f.MinInterval
}

func (f *source) bluesky(s *streamwatch.Source) error {
	cfg := bluesky.Config{BaseURL: f.URL}
	if f.PDS {
		cfg = bluesky.Config{PDS: f.URL}
	}
	b, err := bluesky.New(cfg)
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = b, bluesky.CheckAccount
	if f.Probe > 0 {
		s.Roles.Probe = b
	}
	switch {
	case f.Stream && f.PDS && f.StreamAt == "":
		r, err := bluesky.NewRepos(bluesky.ReposConfig{PDS: f.URL})
		if err != nil {
			return err
		}
		s.Roles.Stream = r
	case f.Stream:
		j, err := bluesky.NewJetstream(bluesky.JetstreamConfig{URL: f.StreamAt})
		if err != nil {
			return err
		}
		s.Roles.Stream = j
	}
	return nil
}

func (f *source) mastodon(s *streamwatch.Source) error {
	m, err := mastodon.New(mastodon.Config{BaseURL: f.URL, Token: f.Token, Visibility: f.Audience})
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = m, mastodon.CheckAccount
	if f.Probe > 0 {
		s.Roles.Probe = m
	}
	if f.Stream {
		st, err := mastodon.NewStream(mastodon.StreamConfig{BaseURL: f.URL, Token: f.Token, Visibility: f.Audience, StreamingURL: f.StreamAt})
		if err != nil {
			return err
		}
		s.Roles.Stream = st
	}
	return nil
}

func (f *source) remote(s *streamwatch.Source) error {
	r, err := remote.New(remote.Config{BaseURL: f.URL, Key: f.Token})
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = r, remote.CheckAccount
	if f.Stream {
		st, err := remote.NewStream(remote.StreamConfig{BaseURL: f.URL, Key: f.Token})
		if err != nil {
			return err
		}
		s.Roles.Stream = st
	}
	return nil
}

func (f *source) x(s *streamwatch.Source, log *slog.Logger) error {
	x, err := xapi.New(xapi.Config{BaseURL: f.URL, Token: f.Token})
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = x, xapi.CheckAccount
	s.Detect.Cost = detect.Cost{Prices: xapi.Prices(), Limit: f.Limit}
	if f.Probe > 0 {
		s.Roles.Probe = xapi.NewUsersProbe(x)
	}
	if f.Stream {
		a, err := xapi.NewActivity(xapi.ActivityConfig{BaseURL: f.URL, Token: f.Token, Logger: log})
		if err != nil {
			return err
		}
		s.Roles.Stream = a
	}
	if f.Rules {
		r, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{BaseURL: f.URL, Token: f.Token, Fetcher: x, Logger: log})
		if err != nil {
			return err
		}
		s.Roles.SearchStream = r
	}
	return nil
}

func (f *source) feed(s *streamwatch.Source, allowPrivate bool, log *slog.Logger) error {
	cfg := feed.Config{Contact: f.Contact, AllowPrivate: allowPrivate}
	s.CheckAccount = feed.CheckAccount
	if allowPrivate {
		s.CheckAccount = feed.CheckPrivateAccount
	}
	if f.Memory != "" {
		dir, err := feed.NewDir(f.Memory)
		if err != nil {
			return fmt.Errorf("memory %q: %w", f.Memory, err)
		}
		cfg.Memory = dir
	}
	fetcher, err := feed.New(cfg)
	if err != nil {
		return err
	}
	s.Fetcher = fetcher
	if f.Callback != "" {
		w, err := feed.NewWebSub(feed.WebSubConfig{Fetcher: fetcher, Callback: f.Callback, Secret: f.Secret, Logger: log})
		if err != nil {
			return err
		}
		s.Roles.Stream = w
	}
	return nil
}

func (f *source) fake(s *streamwatch.Source) {
	d := newDemoPlatform()
	s.Fetcher, s.CheckAccount = d, checkDemoAccount
	if f.Probe > 0 {
		s.Roles.Probe = d.Prober(enginetest.ProbeConfig{})
	}
	if f.Stream {
		s.Roles.Stream = d.Streamer(enginetest.StreamConfig{})
	}
}

// fakeRate is how often the accounts of a fake platform post, all together. Tests raise it.
var fakeRate = enginetest.PostRate{PerSecond: 0.5}

// startFakes makes the accounts of the fake platforms among fetchers post until stop is called.
func startFakes(ctx context.Context, fetchers []fetcher.Fetcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var posting sync.WaitGroup
	for _, f := range fetchers {
		if d, ok := f.(*enginetest.Everything); ok {
			posting.Go(func() { d.Run(ctx, fakeRate) })
		}
	}
	return func() {
		cancel()
		posting.Wait()
	}
}
