package fetcher

import "context"

// The one-method interfaces below serve the HTTP endpoints that pass a request on to the
// platform. An embedding program implements those that its platform offers. The methods return
// the sentinel errors of this package. Their calls count against the same budget as polls.

// UserByUsername looks up one account by its handle, without @.
type UserByUsername interface {
	UserByUsername(ctx context.Context, username string) (User, error)
}

// UsersByIDs looks up accounts by id. The result is in the order of ids;
// unknown ones are left out.
type UsersByIDs interface {
	UsersByIDs(ctx context.Context, ids []string) ([]User, error)
}

// TweetsByIDs looks up posts by id. The result is in the order of ids; unknown ones are left out.
type TweetsByIDs interface {
	TweetsByIDs(ctx context.Context, ids []string) ([]Tweet, error)
}

// CommunityTweets reads a community's timeline.
type CommunityTweets interface {
	CommunityTweets(ctx context.Context, q CommunityQuery) (Page, error)
}

// CommunityQuery asks for a page of a community's posts.
type CommunityQuery struct {
	CommunityID string
	Type        string // "Latest" (default), "Top" or "Media"
	Cursor      string
	Limit       int // the most posts that are wanted, 0 for the platform's number
}

// CommunitySearch finds communities by their names and descriptions. The
// second result is the next page's cursor, "" at the end.
type CommunitySearch interface {
	CommunitySearch(ctx context.Context, query, cursor string) ([]Community, string, error)
}

// ProductReader reads a marketplace item.
type ProductReader interface {
	Product(ctx context.Context, q ProductQuery) (ProductDetail, error)
}

// ProductQuery names a marketplace item.
type ProductQuery struct {
	ShopID, ItemID int64
	Market         string // storefront code, "sg" by default
}

// Scraper reads a web page.
type Scraper interface {
	Scrape(ctx context.Context, q ScrapeQuery) (ScrapeResult, error)
}

// ScrapeQuery asks for a web page in a format: "markdown", "html" or "text".
type ScrapeQuery struct {
	URL    string
	Format string
}

// ScrapeResult is a web page in the format asked for.
type ScrapeResult struct {
	URL        string `json:"url"` // after redirects
	StatusCode int    `json:"status_code"`
	Title      string `json:"title"`
	Format     string `json:"format"`
	Content    string `json:"content"`
}
