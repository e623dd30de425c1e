package enginehttp

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// lookupAPI serves the pass-through endpoints.
type lookupAPI struct{ *Handler }

// listed is a page of a provider's list.
type listed[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"next_cursor"` // "" at the end
	// Platform is the name of the source of an account's tweets, "" for a source without a name.
	Platform string `json:"platform,omitempty"`
}

// path returns a path parameter that must be an id.
func (c *call) path(name string) (string, error) {
	var p params
	v := p.check(name, c.PathValue(name))
	return v, p.err
}

// account is the account in a path.
type account struct {
	source streamwatch.Source
	name   string // at the source
	// written reports whether the path has the source's name. The source's Fetcher then takes the
	// place of a provider.
	written bool
}

func (h lookupAPI) account(c *call) (account, error) {
	var p params
	v := p.accountName("username", c.PathValue("username"))
	if p.err != nil {
		return account{}, p.err
	}
	source, name, err := h.engine.Source(v)
	var field *monitor.FieldError
	if errors.As(err, &field) {
		err = refused("username", field.Value, field.Allowed)
	}
	return account{source, name, name != v}, err
}

// ask calls a provider by askOn, for the platform of accounts without a source's name.
func ask[T any](h *Handler, c *call, what string, do func(context.Context) (T, error)) (T, error) {
	return askOn(h, c, "", what, do)
}

// askOn waits until the source's budget allows a call, then calls a provider. It waits for the
// provider to return even after the request's time.
func askOn[T any](h *Handler, c *call, source, what string, do func(context.Context) (T, error)) (T, error) {
	if err := h.spend(c.patient, source); err != nil {
		var none T
		return none, err
	}
	v, err := do(c.patient)
	return v, upstream(err, what)
}

func (h lookupAPI) userByUsername(c *call) (reply, error) {
	a, err := h.account(c)
	if err != nil {
		return reply{}, err
	}
	provider := h.opts.Providers.UserByUsername
	if a.written {
		if provider, _ = a.source.Fetcher.(fetcher.UserByUsername); provider == nil {
			return reply{}, lacks("provider")
		}
	}
	u, err := askOn(h.Handler, c, a.source.Name, "user", func(ctx context.Context) (fetcher.User, error) {
		return provider.UserByUsername(ctx, a.name)
	})
	if err != nil {
		return reply{}, err
	}
	return reply{text: u.AppendJSON(nil)}, nil
}

func (h lookupAPI) userByID(c *call) (reply, error) {
	id, err := c.path("user_id")
	if err != nil {
		return reply{}, err
	}
	list, err := h.users(c, []string{id})
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return reply{}, notFound("user")
	}
	return reply{text: list[0].AppendJSON(nil)}, nil
}

func (h lookupAPI) usersByIDs(c *call) (reply, error) {
	p := c.params()
	ids := p.ids("user_ids")
	if p.err != nil {
		return reply{}, p.err
	}
	list, err := h.users(c, ids)
	return reply{value: listed[fetcher.User]{Data: orEmpty(list)}}, err
}

func (h lookupAPI) users(c *call, ids []string) ([]fetcher.User, error) {
	return ask(h.Handler, c, "user", func(ctx context.Context) ([]fetcher.User, error) {
		return h.opts.Providers.UsersByIDs.UsersByIDs(ctx, ids)
	})
}

func (h lookupAPI) tweetByID(c *call) (reply, error) {
	id, err := c.path("tweet_id")
	if err != nil {
		return reply{}, err
	}
	list, err := h.tweets(c, []string{id})
	if err != nil {
		return reply{}, err
	}
	if len(list) == 0 {
		return reply{}, notFound("tweet")
	}
	return reply{text: list[0].AppendJSON(nil)}, nil
}

func (h lookupAPI) tweetsByIDs(c *call) (reply, error) {
	p := c.params()
	ids := p.ids("tweets")
	if p.err != nil {
		return reply{}, p.err
	}
	list, err := h.tweets(c, ids)
	return reply{value: listed[fetcher.Tweet]{Data: orEmpty(list)}}, err
}

func (h lookupAPI) tweets(c *call, ids []string) ([]fetcher.Tweet, error) {
	return ask(h.Handler, c, "tweet", func(ctx context.Context) ([]fetcher.Tweet, error) {
		return h.opts.Providers.TweetsByIDs.TweetsByIDs(ctx, ids)
	})
}

// cursor returns the provider's or store's cursor contained in the request's cursor.
func (p *params) cursor(cs cursors) string {
	v := p.values.Get("cursor")
	upstream, ok := cs.open(v)
	if !ok {
		p.refuse("cursor", v, "the next_cursor of an answer to the same question")
	}
	return upstream
}

// askPage asks a provider for a page of tweets, on the budget of a source.
func (h lookupAPI) askPage(c *call, cs cursors, source, what string, do func(context.Context) (fetcher.Page, error)) (reply, error) {
	out, err := askOn(h.Handler, c, source, what, func(ctx context.Context) (out listed[fetcher.Tweet], err error) {
		page, err := do(ctx)
		if err == nil {
			if len(page.Tweets) > 0 {
				out.Platform = fetcher.SourceName(source, page.Tweets[0].Platform)
			}
			out.Data = orEmpty(page.Tweets)
			out.NextCursor, err = cs.sign(page.Next)
		}
		return out, err
	})
	return reply{value: out}, err
}

func (h lookupAPI) latestTweets(c *call) (reply, error) {
	a, err := h.account(c)
	if err != nil {
		return reply{}, err
	}
	p, cs := c.params(), h.cursors(c, "latest_tweets", fetcher.SourceName(a.source.Name, a.name))
	q := fetcher.TimelineQuery{Username: a.name, Cursor: p.cursor(cs)}
	if p.err != nil {
		return reply{}, p.err
	}
	provider := h.opts.Providers.Timeline
	if a.written {
		provider = a.source.Fetcher
	}
	return h.askPage(c, cs, a.source.Name, "user", func(ctx context.Context) (fetcher.Page, error) {
		return provider.Timeline(ctx, q)
	})
}

func (h lookupAPI) searchTweets(c *call) (reply, error) {
	p := c.params()
	q := fetcher.SearchQuery{Query: p.search("query"), Type: p.oneOf("query_type", "Latest", "Top", "Media"), Limit: p.integer("count", 20, 1, 100)}
	cs := h.cursors(c, "advanced_search", q.Query, q.Type)
	if q.Cursor = p.cursor(cs); p.err != nil {
		return reply{}, p.err
	}
	return h.askPage(c, cs, "", "tweet", func(ctx context.Context) (fetcher.Page, error) {
		return h.opts.Providers.Search.Search(ctx, q)
	})
}

func (h lookupAPI) communityTweets(c *call) (reply, error) {
	id, err := c.path("community_id")
	if err != nil {
		return reply{}, err
	}
	p := c.params()
	q := fetcher.CommunityQuery{CommunityID: id, Type: p.oneOf("tweet_type", "Latest", "Top", "Media"), Limit: p.integer("count", 20, 1, 100)}
	cs := h.cursors(c, "community_tweets", id, q.Type)
	if q.Cursor = p.cursor(cs); p.err != nil {
		return reply{}, p.err
	}
	return h.askPage(c, cs, "", "community", func(ctx context.Context) (fetcher.Page, error) {
		return h.opts.Providers.CommunityTweets.CommunityTweets(ctx, q)
	})
}

func (h lookupAPI) searchCommunities(c *call) (reply, error) {
	p := c.params()
	query := p.search("query")
	cs := h.cursors(c, "community_search", query)
	cursor := p.cursor(cs)
	if p.err != nil {
		return reply{}, p.err
	}
	out, err := ask(h.Handler, c, "community", func(ctx context.Context) (out listed[fetcher.Community], err error) {
		list, next, err := h.opts.Providers.CommunitySearch.CommunitySearch(ctx, query, cursor)
		if err == nil {
			out.Data = orEmpty(list)
			out.NextCursor, err = cs.sign(next)
		}
		return out, err
	})
	for i := range out.Data {
		out.Data[i].Rules = orEmpty(out.Data[i].Rules)
	}
	return reply{value: out}, err
}

const defaultMarket = "sg"

func (h lookupAPI) product(c *call) (reply, error) {
	p := c.params()
	q := fetcher.ProductQuery{ShopID: p.number("shop_id", c.PathValue("shop_id")), ItemID: p.number("item_id", c.PathValue("item_id")), Market: defaultMarket}
	if p.values.Has("market") {
		q.Market = p.values.Get("market")
		ok := len(q.Market) >= 2 && len(q.Market) <= 8
		for i := range len(q.Market) {
			ok = ok && q.Market[i] >= 'a' && q.Market[i] <= 'z'
		}
		if !ok {
			p.refuse("market", q.Market, "a storefront code, such as sg, my, th or vn")
		}
	}
	if p.err != nil {
		return reply{}, p.err
	}
	d, err := h.opts.Providers.Product.Product(c.patient, q)
	if err != nil {
		return reply{}, upstream(err, "product")
	}
	o := &d.Product
	o.Images, o.Categories, o.Attributes, o.Models = orEmpty(o.Images), orEmpty(o.Categories), orEmpty(o.Attributes), orEmpty(o.Models)
	o.TierVariations = append([]fetcher.TierVariation{}, o.TierVariations...)
	for i := range o.TierVariations {
		o.TierVariations[i].Options = orEmpty(o.TierVariations[i].Options)
	}
	if o.Rating == nil {
		o.Rating = map[string]int64{}
	}
	return reply{value: d}, nil
}

// number parses a positive integer in a path.
func (p *params) number(name, v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 {
		p.refuse(name, v, "a positive integer")
	}
	return n
}

const maxURL = 2048 // bytes

func (h lookupAPI) scrape(c *call) (reply, error) {
	f := c.form
	q := fetcher.ScrapeQuery{URL: f.need("url", "an http or https URL"), Format: f.optional("format")}
	u, err := url.Parse(q.URL)
	if f.err == nil && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(q.URL) > maxURL) {
		f.refuse("url", "an http or https URL of at most 2,048 bytes")
	}
	switch q.Format {
	case "":
		q.Format = "markdown"
	case "markdown", "html", "text":
	default:
		f.refuse("format", "markdown, html or text")
	}
	if f.err != nil {
		return reply{}, f.err
	}
	r, err := h.opts.Providers.Scraper.Scrape(c.patient, q)
	return reply{value: r}, upstream(err, "page")
}
