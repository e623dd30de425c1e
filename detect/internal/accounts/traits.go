package accounts

import (
	"context"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// traits are the traits of accounts.
var traits = poll.Traits{
	Kind: poll.Accounts, Noun: "account", Key: "username",
	Target:      Key,
	Call:        call,
	EndsKnown:   func(p *poll.Poll, pg *fetcher.Page) bool { return p.Plan.KnowsAll(pg) },
	NewestFirst: true, OneAuthor: true, Resumes: true, ShowsLateness: true,
}

func call(ctx context.Context, e *poll.Env, p *poll.Poll) (fetcher.Page, error) {
	return e.Fetcher.Timeline(ctx, p.NextTimeline())
}
