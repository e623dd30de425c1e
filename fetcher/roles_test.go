package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// shelf is a platform kept in memory, with every role a platform can have.
type shelf struct {
	users    []fetcher.User
	tweets   []fetcher.Tweet // newest first
	products []fetcher.Product
}

var (
	_ fetcher.Fetcher         = (*shelf)(nil)
	_ fetcher.Searcher        = (*shelf)(nil)
	_ fetcher.BatchFetcher    = (*shelf)(nil)
	_ fetcher.Streamer        = (*shelf)(nil)
	_ fetcher.Prober          = (*shelf)(nil)
	_ fetcher.UserByUsername  = (*shelf)(nil)
	_ fetcher.UsersByIDs      = (*shelf)(nil)
	_ fetcher.TweetsByIDs     = (*shelf)(nil)
	_ fetcher.CommunityTweets = (*shelf)(nil)
	_ fetcher.CommunitySearch = (*shelf)(nil)
	_ fetcher.ProductReader   = (*shelf)(nil)
	_ fetcher.Scraper         = (*shelf)(nil)
)

func (s *shelf) page(keep func(*fetcher.Tweet) bool, seen func(string) bool) fetcher.Page {
	var p fetcher.Page
	var reach fetcher.Reach
	for _, t := range s.tweets {
		if !keep(&t) {
			continue
		}
		reach.Add(t.PublishedAt)
		if seen != nil && seen(t.ID) {
			p.Skipped++
			continue
		}
		p.Tweets = append(p.Tweets, t)
	}
	p.OldestAt = reach.Time()
	return p
}

func (s *shelf) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	u, err := s.UserByUsername(ctx, q.Username)
	if err != nil {
		return fetcher.Page{}, err
	}
	p := s.page(func(t *fetcher.Tweet) bool { return t.UserID == u.ID }, q.Seen)
	p.UserID = u.ID
	return p, nil
}

func (s *shelf) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	pages := make([]fetcher.Page, len(qs))
	for i, q := range qs {
		var err error
		if pages[i], err = s.Timeline(ctx, q); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

func (s *shelf) Search(_ context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return s.page(func(t *fetcher.Tweet) bool { return strings.Contains(t.Text, q.Query) }, q.Seen), nil
}

func (s *shelf) Stream(_ context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if err := emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: q.Accounts}); err != nil {
		return err
	}
	for i := range s.tweets {
		if !slices.ContainsFunc(q.Accounts, func(a fetcher.Account) bool { return a.Username == s.tweets[i].Username }) {
			continue
		}
		if err := emit(fetcher.Signal{Kind: fetcher.SignalPost, Post: &s.tweets[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Brings(*fetcher.Tweet) bool { return true }

func (s *shelf) ProbeLimit() int { return 100 }

func (s *shelf) Probe(_ context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	p := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	for i, a := range accounts {
		for _, t := range s.tweets {
			if t.Username == a.Username {
				p.Marks[i]++
			}
		}
	}
	return p, nil
}

func (s *shelf) UserByUsername(_ context.Context, username string) (fetcher.User, error) {
	for _, u := range s.users {
		if strings.EqualFold(u.Username, username) {
			return u, nil
		}
	}
	return fetcher.User{}, fmt.Errorf("shelf: user %q: %w", username, fetcher.ErrNotFound)
}

func (s *shelf) UsersByIDs(_ context.Context, ids []string) ([]fetcher.User, error) {
	return byIDs(s.users, func(u fetcher.User) string { return u.ID }, ids), nil
}

func (s *shelf) TweetsByIDs(_ context.Context, ids []string) ([]fetcher.Tweet, error) {
	return byIDs(s.tweets, func(t fetcher.Tweet) string { return t.ID }, ids), nil
}

func byIDs[T any](all []T, id func(T) string, ids []string) (out []T) {
	for _, want := range ids {
		if i := slices.IndexFunc(all, func(v T) bool { return id(v) == want }); i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

func (s *shelf) CommunityTweets(_ context.Context, q fetcher.CommunityQuery) (fetcher.Page, error) {
	return s.page(func(t *fetcher.Tweet) bool { return t.ConversationID == q.CommunityID }, nil), nil
}

func (s *shelf) CommunitySearch(_ context.Context, query, _ string) ([]fetcher.Community, string, error) {
	return []fetcher.Community{{ID: "7", Name: query, Banner: fetcher.Banner{Width: 1}, Rules: []fetcher.CommunityRule{{Name: "be kind"}}}}, "", nil
}

func (s *shelf) Product(_ context.Context, q fetcher.ProductQuery) (fetcher.ProductDetail, error) {
	for _, p := range s.products {
		if p.ShopID == q.ShopID && p.ItemID == q.ItemID {
			return fetcher.ProductDetail{Market: q.Market, Product: p}, nil
		}
	}
	return fetcher.ProductDetail{}, fetcher.ErrNotFound
}

func (s *shelf) Scrape(_ context.Context, q fetcher.ScrapeQuery) (fetcher.ScrapeResult, error) {
	return fetcher.ScrapeResult{URL: q.URL, StatusCode: 200, Format: q.Format, Content: "# Hello"}, nil
}

// A platform written from the documentation alone serves every role.
func TestRoles(t *testing.T) {
	ctx := t.Context()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := &shelf{
		users: []fetcher.User{{ID: "1", Username: "nasa"}, {ID: "2", Username: "esa"}},
		tweets: []fetcher.Tweet{
			{ID: "12", UserID: "2", Username: "esa", Text: "ariane", PublishedAt: noon.Add(2 * time.Second), ConversationID: "7"},
			{ID: "11", UserID: "1", Username: "nasa", Text: "lift-off", PublishedAt: noon.Add(time.Second)},
			{ID: "10", UserID: "1", Username: "nasa", Text: "count-down", PublishedAt: noon},
		},
		products: []fetcher.Product{{ItemID: 5, ShopID: 6, Name: "rocket", Models: []fetcher.ProductModel{{Stock: 1}},
			Attributes: []fetcher.ProductAttribute{{Name: "colour"}}, TierVariations: []fetcher.TierVariation{{Name: "size"}}}},
	}
	pages, err := s.Timelines(ctx, []fetcher.TimelineQuery{
		{Username: "NASA", Seen: func(id string) bool { return id == "10" }},
		{Username: "esa"},
	})
	if err != nil || len(pages) != 2 {
		t.Fatal(pages, err)
	}
	if p := pages[0]; len(p.Tweets) != 1 || p.Tweets[0].ID != "11" || p.Skipped != 1 || p.UserID != "1" || !p.OldestAt.Equal(noon.Add(time.Second)) {
		t.Errorf("timeline %+v: skipped posts count for how far it reaches, which takes two", p)
	}
	if _, err := s.Timeline(ctx, fetcher.TimelineQuery{Username: "who"}); !errors.Is(err, fetcher.ErrNotFound) {
		t.Errorf("unknown account: %v", err)
	}
	if p, err := s.Search(ctx, fetcher.SearchQuery{Query: "lift"}); err != nil || len(p.Tweets) != 1 {
		t.Errorf("search %+v, %v", p, err)
	}
	var streamed []string
	if err := s.Stream(ctx, fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "nasa"}}}, func(g fetcher.Signal) error {
		if g.Kind == fetcher.SignalPost && s.Brings(g.Post) {
			streamed = append(streamed, g.Post.ID)
		}
		return nil
	}); err != nil || len(streamed) != 2 {
		t.Errorf("streamed %v, %v", streamed, err)
	}
	if p, err := s.Probe(ctx, []fetcher.Account{{Username: "who"}, {Username: "nasa"}}); err != nil || !slices.Equal(p.Marks, []fetcher.Mark{fetcher.NoMark, 2}) {
		t.Errorf("marks %v, %v", p.Marks, err)
	}
	if us, err := s.UsersByIDs(ctx, []string{"2", "9", "1"}); err != nil || len(us) != 2 || us[0].ID != "2" {
		t.Errorf("users %v, %v: the order asked, unknown ones left out", us, err)
	}
	if ts, err := s.TweetsByIDs(ctx, []string{"10"}); err != nil || len(ts) != 1 {
		t.Errorf("tweets %v, %v", ts, err)
	}
	if p, err := s.CommunityTweets(ctx, fetcher.CommunityQuery{CommunityID: "7"}); err != nil || len(p.Tweets) != 1 {
		t.Errorf("community %+v, %v", p, err)
	}
	if cs, next, err := s.CommunitySearch(ctx, "space", ""); err != nil || len(cs) != 1 || next != "" {
		t.Errorf("communities %v, %v", cs, err)
	}
	if d, err := s.Product(ctx, fetcher.ProductQuery{ShopID: 6, ItemID: 5, Market: "sg"}); err != nil || d.Product.Name != "rocket" || d.Market != "sg" {
		t.Errorf("product %+v, %v", d, err)
	}
	if r, err := s.Scrape(ctx, fetcher.ScrapeQuery{URL: "https://example.com", Format: "markdown"}); err != nil || r.Content == "" {
		t.Errorf("page %+v, %v", r, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"rate limited, retry after 2m0s": &fetcher.RateLimitError{RetryAfter: 2 * time.Minute},
		"rate limited":                   &fetcher.RateLimitError{},
		"status 503: overloaded":         &fetcher.StatusError{Code: 503, Detail: "overloaded"},
		"status 502":                     &fetcher.StatusError{Code: 502},
	} {
		if got := err.Error(); got != "fetcher: "+want {
			t.Errorf("%q, want %q", got, "fetcher: "+want)
		}
	}
}
