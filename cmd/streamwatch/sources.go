package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
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
)

// openSources opens the sources. hooks has, by path, the handlers that WebSub hubs call.
func openSources(flags []sourceFlag, allowPrivate bool, log *slog.Logger) (all []streamwatch.Source, hooks map[string]http.Handler, err error) {
	hooks = map[string]http.Handler{}
	for _, f := range flags {
		f.log, f.allowPrivate = log.With("source", f.name), allowPrivate
		s, err := f.open()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.from, inWords(err, sourceFields))
		}
		all = append(all, s)
		if hook, ok := s.Roles.Stream.(http.Handler); ok {
			p := f.streamPath()
			if hooks[p] != nil || !isHookPath(p) {
				return nil, nil, fmt.Errorf("%s: stream with the path %q is not allowed: want one of its own, outside of /v1 and /console, without empty parts, dots alone, white space, {, } and %%", f.from, p)
			}
			hooks[p] = hook
		}
	}
	return all, hooks, nil
}

// isHookPath reports whether a path is free for a hub, and stands for itself as a pattern of
// http.ServeMux, which panics on others.
func isHookPath(p string) bool {
	return p != "/" && !strings.HasPrefix(p, "/v1/") && !strings.HasPrefix(p, "/console/") && path.Clean(p)+"/" == p &&
		!strings.ContainsFunc(p, func(r rune) bool { return strings.ContainsRune("{}%", r) || unicode.IsSpace(r) || unicode.IsControl(r) })
}

// sourceFields maps fields of the adapters' Configs to the options that set them.
var sourceFields = map[string]string{
	"BaseURL": "url", "ReposConfig.PDS": "url", "Token": "token", "Contact": "contact",
	"JetstreamConfig.URL": "stream", "StreamConfig.StreamingURL": "stream", "WebSubConfig.Callback": "stream", "WebSubConfig.Secret": "token",
}

// streamPath returns the path of the stream's address as a pattern for all paths below it.
func (f *sourceFlag) streamPath() string {
	u, err := url.Parse(f.streamURL)
	if err != nil {
		return "/"
	}
	return strings.TrimSuffix(u.Path, "/") + "/"
}

func (f *sourceFlag) open() (streamwatch.Source, error) {
	s := streamwatch.Source{Name: f.name}
	var err error
	switch f.kind {
	case "bluesky":
		err = f.bluesky(&s)
	case "mastodon":
		err = f.mastodon(&s)
	case "remote":
		err = f.remote(&s)
	case "x":
		err = f.x(&s)
	case "feed":
		err = f.feed(&s)
	case "fake":
		f.fake(&s)
	}
	s.Detect.ProbeRate = f.probeRate
	if f.calls > 0 {
		s.Detect.Pace, s.Detect.FetchRate, s.Detect.FetchBurst = detect.PaceBudget, f.calls, f.burst
	}
	return s, err
}

func (f *sourceFlag) bluesky(s *streamwatch.Source) error {
	cfg := bluesky.Config{BaseURL: f.url}
	if f.pds {
		cfg = bluesky.Config{PDS: f.url}
	}
	b, err := bluesky.New(cfg)
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = b, bluesky.CheckAccount
	if f.probe {
		s.Roles.Probe = b
	}
	switch {
	case f.stream && f.pds && f.streamURL == "":
		r, err := bluesky.NewRepos(bluesky.ReposConfig{PDS: f.url})
		if err != nil {
			return err
		}
		s.Roles.Stream = r
	case f.stream:
		j, err := bluesky.NewJetstream(bluesky.JetstreamConfig{URL: f.streamURL})
		if err != nil {
			return err
		}
		s.Roles.Stream = j
	}
	return nil
}

func (f *sourceFlag) mastodon(s *streamwatch.Source) error {
	m, err := mastodon.New(mastodon.Config{BaseURL: f.url, Token: f.token})
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = m, mastodon.CheckAccount
	if f.probe {
		s.Roles.Probe = m
	}
	if f.stream {
		st, err := mastodon.NewStream(mastodon.StreamConfig{BaseURL: f.url, Token: f.token, StreamingURL: f.streamURL})
		if err != nil {
			return err
		}
		s.Roles.Stream = st
	}
	return nil
}

// remote sets no CheckAccount: which names are accounts depends on the platform of the other
// service.
func (f *sourceFlag) remote(s *streamwatch.Source) error {
	r, err := remote.New(remote.Config{BaseURL: f.url, Key: f.token})
	if err != nil {
		return err
	}
	s.Fetcher = r
	if f.stream {
		st, err := remote.NewStream(remote.StreamConfig{BaseURL: f.url, Key: f.token})
		if err != nil {
			return err
		}
		s.Roles.Stream = st
	}
	return nil
}

func (f *sourceFlag) x(s *streamwatch.Source) error {
	x, err := xapi.New(xapi.Config{BaseURL: f.url, Token: f.token})
	if err != nil {
		return err
	}
	s.Fetcher, s.CheckAccount = x, xapi.CheckAccount
	s.Detect.Cost = detect.Cost{Prices: xapi.Prices(), Limit: f.limit}
	if f.probe {
		s.Roles.Probe = xapi.NewUsersProbe(x)
	}
	if f.stream {
		a, err := xapi.NewActivity(xapi.ActivityConfig{BaseURL: f.url, Token: f.token, Logger: f.log})
		if err != nil {
			return err
		}
		s.Roles.Stream = a
	}
	if f.rules {
		r, err := xapi.NewFilteredStream(xapi.FilteredStreamConfig{BaseURL: f.url, Token: f.token, Fetcher: x, Logger: f.log})
		if err != nil {
			return err
		}
		s.Roles.SearchStream = r
	}
	return nil
}

func (f *sourceFlag) feed(s *streamwatch.Source) error {
	cfg := feed.Config{Contact: f.contact, AllowPrivate: f.allowPrivate}
	s.CheckAccount = feed.CheckAccount
	if f.allowPrivate {
		s.CheckAccount = feed.CheckPrivateAccount
	}
	if f.memory != "" {
		dir, err := feed.NewDir(f.memory)
		if err != nil {
			return fmt.Errorf("memory %q: %w", f.memory, err)
		}
		cfg.Memory = dir
	}
	fetcher, err := feed.New(cfg)
	if err != nil {
		return err
	}
	s.Fetcher = fetcher
	if f.stream {
		w, err := feed.NewWebSub(feed.WebSubConfig{Fetcher: fetcher, Callback: f.streamURL, Secret: f.token, Logger: f.log})
		if err != nil {
			return err
		}
		s.Roles.Stream = w
	}
	return nil
}

func (f *sourceFlag) fake(s *streamwatch.Source) {
	d := newDemoPlatform()
	s.Fetcher = d
	if f.probe {
		s.Roles.Probe = d.Prober(enginetest.ProbeConfig{})
	}
	if f.stream {
		s.Roles.Stream = d.Streamer(enginetest.StreamConfig{})
	}
}

// fakeRate is how often the accounts of a fake platform post, together. It is a variable for
// tests, which raise it.
var fakeRate = enginetest.PostRate{PerSecond: 0.5}

// startFakes makes the accounts of those fetchers that are fake platforms post, until stop is
// called.
func startFakes(ctx context.Context, fetchers []fetcher.Fetcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var posting sync.WaitGroup
	for _, f := range fetchers {
		if d, ok := f.(*demoPlatform); ok {
			posting.Go(func() { d.Run(ctx, fakeRate) })
		}
	}
	return func() {
		cancel()
		posting.Wait()
	}
}
