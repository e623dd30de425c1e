package fetchertest

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
)

// byQuery is a Streamer of accounts made of a fetcher.Roles.SearchStream, for the cases of
// accounts: an account is the query of its posts.
type byQuery struct {
	fetcher.Streamer
	up *StreamUpstream
}

// open makes a Streamer of the upstream, which the cases give accounts.
func (u *StreamUpstream) open(t *streamTest) fetcher.Streamer {
	s := u.New(t.TB)
	if u.Query != nil {
		s = byQuery{s, u}
	}
	return s
}

// Stream asks for queries instead of accounts, and tells accounts instead of queries.
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
