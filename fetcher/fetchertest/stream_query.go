package fetchertest

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
)

// byQuery makes a Streamer of accounts from a fetcher.Roles.SearchStream, to run the cases of
// accounts. For each account it uses the query for the account's posts.
type byQuery struct {
	fetcher.Streamer
	up *StreamUpstream
}

// open makes a Streamer of accounts for the upstream.
func (u *StreamUpstream) open(t *streamTest) fetcher.Streamer {
	s := u.New(t.TB)
	if u.Query != nil {
		s = byQuery{s, u}
	}
	return s
}

// Stream calls the wrapped Stream with queries instead of accounts. In signals it replaces the
// queries by the accounts.
func (b byQuery) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	ctx, cancel := context.WithCancel(ctx)
	changes, done := make(chan []fetcher.SearchQuery), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case accounts, ok := <-q.Changes:
				if !ok {
					close(changes)
					return
				}
				select {
				case changes <- b.queries(accounts):
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	defer func() {
		cancel()
		<-done
	}()
	asked := fetcher.StreamQuery{Queries: b.queries(q.Accounts), QueryChanges: changes, Position: q.Position}
	return b.Streamer.Stream(ctx, asked, func(g fetcher.Signal) error {
		of := b.accounts(g.Queries)
		switch {
		case g.Kind == fetcher.SignalUp || g.Kind == fetcher.SignalAccounts:
			g.Accounts = of
		case g.Kind == fetcher.SignalPost && g.Post != nil:
			post := *g.Post
			if post.Username, post.UserID = "", ""; len(of) == 1 {
				post.Username, post.UserID = of[0].Username, of[0].UserID
			}
			g.Post = &post
		}
		return emit(g)
	})
}

func (b byQuery) queries(accounts []fetcher.Account) (all []fetcher.SearchQuery) {
	for _, a := range accounts {
		all = append(all, fetcher.SearchQuery{Query: b.up.Query(a), Type: "Latest"})
	}
	return all
}

// accounts are those whose queries are among some.
func (b byQuery) accounts(queries []string) (all []fetcher.Account) {
	for _, a := range b.up.Accounts {
		if slices.Contains(queries, b.up.Query(a)) {
			all = append(all, a)
		}
	}
	return all
}
