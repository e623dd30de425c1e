package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/monitor"
)

// watched are the accounts that the command watch watches.
type watched struct {
	names   []string // each once, as "source:account"
	sources []streamwatch.Source
}

func (a *watched) source(kind string) streamwatch.Source {
	i := slices.IndexFunc(a.sources, func(s streamwatch.Source) bool { return s.Name == kind })
	return a.sources[i]
}

// openWatched makes a source for each kind of account in the configuration.
func openWatched(c watchConfig) (*watched, error) {
	all := &watched{}
	servers := mastodonServers{}
	for _, given := range c.accounts {
		kind, account, ok := strings.Cut(given, ":")
		if !ok || account == "" {
			return nil, fmt.Errorf("account %q is not allowed: want mastodon:user@host, bluesky:handle or feed:https://host/path", given)
		}
		source := streamwatch.Source{Name: kind}
		var err error
		switch kind {
		case "mastodon":
			if account, err = servers.add(account); err != nil {
				return nil, fmt.Errorf("account %q is not allowed: %w", given, err)
			}
			source.Fetcher, source.CheckAccount = servers, mastodon.CheckAccount
		case "bluesky":
			account = strings.TrimPrefix(strings.TrimPrefix(account, "https://bsky.app/profile/"), "@")
			if source.Fetcher, err = bluesky.New(bluesky.Config{BaseURL: c.appView}); err != nil {
				return nil, err
			}
			source.CheckAccount = bluesky.CheckAccount
		case "feed":
			if source.Fetcher, err = feed.New(feed.Config{AllowPrivate: c.allowPrivate}); err != nil {
				return nil, err
			}
			if source.CheckAccount = feed.CheckAccount; c.allowPrivate {
				source.CheckAccount = feed.CheckPrivateAccount
			}
		default:
			return nil, fmt.Errorf("account %q is not allowed: want mastodon:, bluesky: or feed: before it", given)
		}
		if err := source.CheckAccount(account); err != nil {
			return nil, fmt.Errorf("account %q is not allowed: want %w", given, err)
		}
		all.add(source, account)
	}
	return all, nil
}

func (a *watched) add(source streamwatch.Source, account string) {
	if !slices.ContainsFunc(a.sources, func(s streamwatch.Source) bool { return s.Name == source.Name }) {
		a.sources = append(a.sources, source)
	}
	name := source.Name + ":" + account
	if !slices.ContainsFunc(a.names, func(n string) bool { return monitor.Key(n) == monitor.Key(name) }) {
		a.names = append(a.names, name)
	}
}

// mastodonServers is a Fetcher for accounts on several servers. It maps hosts to their Fetchers. It
// reads an account user@host at host, and its posts have this name, too.
type mastodonServers map[string]fetcher.Fetcher

// Timeline implements fetcher.Fetcher.
func (m mastodonServers) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	user, host, _ := strings.Cut(q.Username, "@")
	server, ok := m[strings.ToLower(host)]
	if !ok {
		return fetcher.Page{}, fetcher.ErrNotFound
	}
	q.Username = user
	page, err := server.Timeline(ctx, q)
	for i := range page.Tweets {
		if t := &page.Tweets[i]; !strings.Contains(t.Username, "@") {
			t.Username += "@" + host
		}
	}
	return page, err
}

// add adds the server of an account and returns user@host. account is user@host or the address of its
// page, https://host/@user.
func (m mastodonServers) add(account string) (string, error) {
	page := strings.TrimSuffix(account, "/")
	if user, host, ok := strings.Cut(strings.TrimPrefix(account, "@"), "@"); ok && !strings.Contains(account, "/") {
		page = "https://" + host + "/@" + user
	}
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || !strings.HasPrefix(u.Path, "/@") || len(u.Path) < 3 {
		return "", fmt.Errorf("want mastodon:user@host or mastodon:https://host/@user")
	}
	host := strings.ToLower(u.Host)
	if m[host] == nil {
		if m[host], err = mastodon.New(mastodon.Config{BaseURL: u.Scheme + "://" + u.Host}); err != nil {
			return "", err
		}
	}
	return u.Path[2:] + "@" + host, nil
}
