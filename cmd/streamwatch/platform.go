package main

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
	"github.com/streamwatch/streamwatch/fetcher/shopee"
	"github.com/streamwatch/streamwatch/fetcher/webscrape"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// defaultInterval is that of streamwatch.Config.
const defaultInterval = time.Minute

// openPlatform opens the platform of the key platform or demo, as a source without a name. Its Fetcher
// is nil if the configuration has only sources.
func openPlatform(c config) (s streamwatch.Source, err error) {
	switch {
	case c.Demo:
		s.Fetcher, s.CheckAccount = newDemoPlatform(), checkDemoAccount
	case c.Platform == "":
	case c.Platform == "bluesky":
		s.CheckAccount = bluesky.CheckAccount
		s.Fetcher, err = bluesky.New(bluesky.Config{})
	default:
		s.CheckAccount = mastodon.CheckAccount
		if s.Fetcher, err = mastodon.New(mastodon.Config{BaseURL: c.Platform}); err != nil {
			err = fmt.Errorf("%s %q is not allowed: want bluesky, or where a Mastodon server is: want http:// or https:// and a host, and nothing else", c.from.called("platform"), netguard.RedactURL(c.Platform))
		}
	}
	return s, err
}

// providersOf returns the providers of the pass-through endpoints: those that source implements, and
// readers of pages and products. source is the first; accounts with a source's name are read by that
// source. base is the service's address, which serves the products of the demonstration. Endpoints without a
// provider answer 501.
func providersOf(c config, source fetcher.Fetcher, base string) (enginehttp.Providers, error) {
	p := enginehttp.Providers{Timeline: source}
	p.Search = fetcher.RolesOf(source).Search
	p.UserByUsername, _ = source.(fetcher.UserByUsername)
	p.UsersByIDs, _ = source.(fetcher.UsersByIDs)
	p.TweetsByIDs, _ = source.(fetcher.TweetsByIDs)
	p.CommunityTweets, _ = source.(fetcher.CommunityTweets)
	p.CommunitySearch, _ = source.(fetcher.CommunitySearch)
	scraper, err := webscrape.New(webscrape.Config{MainContent: true, AllowPrivate: c.AllowPrivate})
	if err != nil {
		return p, err
	}
	fronts := shopee.DefaultStorefronts()
	if c.Demo {
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
