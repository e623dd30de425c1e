package enginetest

import (
	"context"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Everything is a Platform that also has users, single posts and a community: it implements the ports
// of all pass-through endpoints.
type Everything struct {
	*Platform
	accounts []string
}

// NewEverything returns a platform with the accounts of a configuration, of which there has to be one.
func NewEverything(cfg PlatformConfig) *Everything {
	return &Everything{NewPlatform(cfg), cfg.Accounts}
}

// UserByUsername makes up a profile of an account.
func (e *Everything) UserByUsername(ctx context.Context, username string) (fetcher.User, error) {
	page, err := e.Timeline(ctx, fetcher.TimelineQuery{Username: username})
	if err != nil {
		return fetcher.User{}, err
	}
	bio := "A fake account."
	return fetcher.User{ID: page.UserID, Username: strings.ToLower(username), Name: strings.ToUpper(username), Description: &bio,
		CreatedAt: fetcher.FormatTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), TweetCount: int64(len(page.Tweets))}, nil
}

// UsersByIDs searches all accounts, which are few.
func (e *Everything) UsersByIDs(ctx context.Context, ids []string) (found []fetcher.User, err error) {
	for _, id := range ids {
		for _, name := range e.accounts {
			u, err := e.UserByUsername(ctx, name)
			if err != nil {
				return nil, err
			}
			if u.ID == id {
				found = append(found, u)
			}
		}
	}
	return found, nil
}

// TweetsByIDs finds posts among the newest of each account.
func (e *Everything) TweetsByIDs(ctx context.Context, ids []string) (found []fetcher.Tweet, err error) {
	known := map[string]fetcher.Tweet{}
	for _, name := range e.accounts {
		page, err := e.Timeline(ctx, fetcher.TimelineQuery{Username: name})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tweets {
			known[t.ID] = t
		}
	}
	for _, id := range ids {
		if t, ok := known[id]; ok {
			found = append(found, t)
		}
	}
	return found, nil
}

// community is the only one; its posts are those of the first account.
var community = fetcher.Community{ID: "7", Name: "Spaceflight", Description: "Rockets and what they carry.", MemberCount: 3}

// CommunityTweets reads the community's posts.
func (e *Everything) CommunityTweets(ctx context.Context, q fetcher.CommunityQuery) (fetcher.Page, error) {
	if q.CommunityID != community.ID {
		return fetcher.Page{}, fetcher.ErrNotFound
	}
	return e.Search(ctx, fetcher.SearchQuery{Query: "from:" + e.accounts[0], Type: q.Type, Limit: q.Limit, Cursor: q.Cursor})
}

// CommunitySearch looks for the text in the community's name and description.
func (e *Everything) CommunitySearch(_ context.Context, query, _ string) ([]fetcher.Community, string, error) {
	if strings.Contains(strings.ToLower(community.Name+" "+community.Description), strings.ToLower(query)) {
		return []fetcher.Community{community}, "", nil
	}
	return nil, "", nil
}
