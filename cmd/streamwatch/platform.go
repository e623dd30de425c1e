package main

import (
	"fmt"

	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/fetcher/shopee"
	"github.com/streamwatch/streamwatch/fetcher/webscrape"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// wantHost is what the address of a platform may be.
const wantHost = "want http:// or https:// and a host, and nothing else"

// openPlatform opens the platform of -platform or -demo, whose accounts have no source's
// name before theirs. It returns nil if there are only sources.
func openPlatform(c config) (fetcher.Fetcher, error) {
	switch {
	case !c.demo && c.platform == "":
		return nil, nil
	case c.demo:
		return newDemoPlatform(), nil
	case c.platform == "bluesky":
		b, err := bluesky.New(bluesky.Config{BaseURL: c.appView, PDS: c.pds})
		if name, value := "appview", c.appView; err != nil {
			if c.pds != "" {
				name, value = "pds", c.pds
			}
			return nil, fmt.Errorf("%s %q is not allowed: %s", c.from.called(name), netguard.RedactURL(value), wantHost)
		}
		return b, nil
	}
	m, err := mastodon.New(mastodon.Config{BaseURL: c.platform, Token: c.token})
	if m := inWords(err, map[string]string{"Token": c.from.called("token")}); m != err {
		return nil, m
	} else if err != nil {
		return nil, fmt.Errorf("%s %q is not allowed: want bluesky, or where a Mastodon server is: %s", c.from.called("platform"), netguard.RedactURL(c.platform), wantHost)
	}
	return m, nil
}

// providersOf returns what the pass-through endpoints call: what source can do, which is the
// platform of names without a source, and readers of pages and products. Endpoints without a
// provider answer 501. base is the service's address, where -demo has its products.
func providersOf(c config, source fetcher.Fetcher, base string) (enginehttp.Providers, error) {
	p := enginehttp.Providers{Timeline: source}
	p.Search = fetcher.RolesOf(source).Search
	p.UserByUsername, _ = source.(fetcher.UserByUsername)
	p.UsersByIDs, _ = source.(fetcher.UsersByIDs)
	p.TweetsByIDs, _ = source.(fetcher.TweetsByIDs)
	p.CommunityTweets, _ = source.(fetcher.CommunityTweets)
	p.CommunitySearch, _ = source.(fetcher.CommunitySearch)
	scraper, err := webscrape.New(webscrape.Config{MainContent: true, AllowPrivate: c.allowPrivate})
	if err != nil {
		return p, err
	}
	fronts := shopee.DefaultStorefronts()
	if c.demo {
		for market, front := range fronts {
			front.BaseURL = base
			fronts[market] = front
		}
	}
	products, err := shopee.New(shopee.Config{Storefronts: fronts})
	if err != nil {
		return p, err
	}
	p.Scraper, p.Product = scraper, products
	return p, nil
}
