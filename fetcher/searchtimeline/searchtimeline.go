package searchtimeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Config sets up a Fetcher.
type Config struct {
	// Searcher must understand "from:" and "OR", and should answer newest post first. Required.
	Searcher fetcher.Searcher
	// MaxLength is the largest allowed length of a query, in characters (Unicode code points),
	// at least 32. Defaults to 512, the limit of a recent search in X's API v2:
	// docs.x.com/x-api/posts/search/integrate/build-a-query.
	MaxLength int
}

const (
	defaultLength = 512
	leastLength   = 32

	from = "from:"
	or   = " OR "

	// usualHandle is the length of the longest handle on X, in characters.
	usualHandle = 15

	// alone is the prefix of a cursor for an account that is read alone. After it comes the
	// Searcher's cursor, or nothing for the newest page.
	alone = "alone:"
)

// Fetcher reads timelines by searching. It stores nothing between calls. Its methods are
// safe for concurrent use if the Searcher's are.
type Fetcher struct {
	searcher  fetcher.Searcher
	maxLength int
}

// New checks cfg and returns a Fetcher.
func New(cfg Config) (*Fetcher, error) {
	if cfg.Searcher == nil {
		return nil, errors.New("searchtimeline: Config.Searcher is missing: want a fetcher.Searcher")
	}
	if cfg.MaxLength == 0 {
		cfg.MaxLength = defaultLength
	}
	if cfg.MaxLength < leastLength {
		return nil, fmt.Errorf("searchtimeline: Config.MaxLength %d is not allowed: want at least %d characters, or 0 for %d",
			cfg.MaxLength, leastLength, defaultLength)
	}
	return &Fetcher{searcher: cfg.Searcher, maxLength: cfg.MaxLength}, nil
}

// BatchLimit returns the number of accounts that fit into one query if each handle has 15
// characters, the longest handle on X. A query of 512 characters has 21 accounts.
func (f *Fetcher) BatchLimit() int {
	return (f.maxLength + len(or)) / (len(from) + usualHandle + len(or))
}

// Search passes a query on to the Searcher.
func (f *Fetcher) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return f.searcher.Search(ctx, q)
}

// Timeline reads a page of one account with a query for this account alone. If the handle cannot
// be part of a query, the error is fetcher.ErrNotFound. Other errors are those of the Searcher.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	query, err := f.clause(q.Username)
	if err != nil {
		return fetcher.Page{}, err
	}
	ask := fetcher.SearchQuery{Query: query, Cursor: strings.TrimPrefix(q.Cursor, alone), Limit: q.Limit, Seen: q.Seen}
	if q.Seen != nil && q.Cursor == "" {
		ask.Known = q.Known
	}
	page, err := f.ask(ctx, ask)
	if err != nil {
		return page, err
	}
	if page.Unchanged {
		page.UserID = q.UserID
	} else {
		var ordered bool
		if page.OldestAt, ordered = reach(&page); !ordered || q.Cursor != "" {
			page.Version = 0 // because an Unchanged page would have the wrong OldestAt
		}
	}
	if page.Next != "" {
		page.Next = alone + page.Next
	}
	if page.UserID == "" && !page.Unchanged {
		page.UserID = idOf(page.Tweets, handle(q.Username))
	}
	return page, nil
}

// ask makes one search. On an error it returns a page with only Billed set.
func (f *Fetcher) ask(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	q.Type = "Latest"
	page, err := f.searcher.Search(ctx, q)
	billed := fetcher.Page{Billed: page.Billed}
	switch {
	case err != nil:
		return billed, err
	case page.Err != nil:
		return billed, page.Err
	case page.Unchanged && q.Known == 0:
		return billed, errors.New("searchtimeline: searcher says unchanged of a page that it was not asked to compare")
	}
	return page, nil
}

// clause returns the query for one account, or an error if its handle cannot be part of a query.
func (f *Fetcher) clause(username string) (string, error) {
	name := handle(username)
	if !searchable(name) {
		return "", fmt.Errorf("searchtimeline: username %q cannot be searched for: want letters, digits and any of _-.@: %w", clip(username), fetcher.ErrNotFound)
	}
	if n := len(from) + utf8.RuneCountInString(name); n > f.maxLength {
		return "", fmt.Errorf("searchtimeline: username %q cannot be searched for: want a query of at most %d characters: %w", clip(username), f.maxLength, fetcher.ErrNotFound)
	}
	return from + name, nil
}

// handle returns a username without its leading @, if it has one.
func handle(username string) string { return strings.TrimPrefix(username, "@") }

// searchable reports whether a handle can be part of a query. It can if it has only letters,
// digits, "_", "-", "." and "@", which form one word in any platform's query syntax.
func searchable(name string) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.@", r) {
			return false
		}
	}
	return name != ""
}

// clip shortens a username for an error message.
func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), 64)], "") }
