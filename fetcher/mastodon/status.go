package mastodon

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/scan"
)

// maxItems is the number of elements read of each list in a post, such as its media or tags. No
// server allows that many.
const maxItems = 100

// status is a post in the API: Mastodon's entity Status, with fields that other servers use for
// the same purpose. It has only the fields that tweet maps. decode uses the names in the tags.
type status struct {
	ID              ident            `json:"id"`
	URI             string           `json:"uri"`
	URL             string           `json:"url"`
	CreatedAt       string           `json:"created_at"`
	Account         *account         `json:"account"`
	Content         string           `json:"content"` // HTML
	SpoilerText     string           `json:"spoiler_text"`
	Language        string           `json:"language"`
	Visibility      string           `json:"visibility"`
	Sensitive       bool             `json:"sensitive"`
	InReplyToID     ident            `json:"in_reply_to_id"`
	InReplyToUserID ident            `json:"in_reply_to_account_id"`
	Reblog          *status          `json:"reblog"`
	Quote           *quote           `json:"quote"`
	QuoteID         ident            `json:"quote_id"` // Akkoma, Fedibird
	Pleroma         *pleroma         `json:"pleroma"`
	Media           list[attachment] `json:"media_attachments"`
	Mentions        list[mention]    `json:"mentions"`
	Tags            list[tag]        `json:"tags"`
	Card            *card            `json:"card"`
	Poll            *poll            `json:"poll"`
	Application     *application     `json:"application"`
	RepliesCount    float64          `json:"replies_count"`
	ReblogsCount    float64          `json:"reblogs_count"`
	FavouritesCount float64          `json:"favourites_count"`
	QuotesCount     float64          `json:"quotes_count"`
	Favourited      bool             `json:"favourited"`
	Reblogged       bool             `json:"reblogged"`
	Bookmarked      bool             `json:"bookmarked"`
}

type account struct {
	ID             ident   `json:"id"`
	Username       string  `json:"username"`
	Acct           string  `json:"acct"`
	DisplayName    string  `json:"display_name"`
	CreatedAt      string  `json:"created_at"`
	Note           string  `json:"note"` // HTML
	URL            string  `json:"url"`
	Avatar         string  `json:"avatar"`
	Header         string  `json:"header"`
	FollowersCount float64 `json:"followers_count"`
	FollowingCount float64 `json:"following_count"`
	StatusesCount  float64 `json:"statuses_count"`
	Suspended      bool    `json:"suspended"`
}

// quote is a quoted post in one of three forms. Mastodon's Quote contains the post. Mastodon's
// ShallowQuote contains only the post's id. On other servers, the object is the post itself.
type quote struct {
	ID           ident         `json:"id"`
	State        string        `json:"state"`
	QuotedID     ident         `json:"quoted_status_id"`
	QuotedStatus *quotedStatus `json:"quoted_status"`
}

type quotedStatus struct {
	ID ident `json:"id"`
}

type pleroma struct {
	ConversationID ident `json:"conversation_id"`
	QuoteID        ident `json:"quote_id"`
}

type attachment struct {
	ID          ident  `json:"id"`
	Type        string `json:"type"`
	URL         string `json:"url"`
	PreviewURL  string `json:"preview_url"`
	RemoteURL   string `json:"remote_url"`
	Description string `json:"description"`
	Meta        struct {
		Original original `json:"original"`
	} `json:"meta"`
}

type original struct {
	Width    float64 `json:"width"`
	Height   float64 `json:"height"`
	Duration float64 `json:"duration"` // seconds
}

type mention struct {
	ID       ident  `json:"id"`
	Username string `json:"username"`
	Acct     string `json:"acct"`
	URL      string `json:"url"`
}

type tag struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type card struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Image string `json:"image"`
}

type poll struct {
	ID        ident        `json:"id"`
	ExpiresAt string       `json:"expires_at"`
	Options   list[option] `json:"options"`
}

type option struct {
	Title string  `json:"title"`
	Votes float64 `json:"votes_count"`
}

type application struct {
	Name string `json:"name"`
}

// ident is an opaque id. Most servers send a string. A number is kept as text, because a
// float64 would lose its last digits.
type ident string

// identText returns the text of an id. The id is a JSON string, or a number of digits only. For
// any other value identText returns nil.
func identText(v scan.Value) []byte {
	if text, ok := v.Text(); ok {
		return text
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return nil
		}
	}
	return v
}

// list has at most maxItems elements.
type list[T any] []T

// number rounds a count or a size. A negative number becomes 0: some servers send -1 for
// a hidden count.
func number(f float64) int64 {
	if !(f > 0) {
		return 0
	}
	return int64(math.Round(min(f, 1<<53)))
}

// parseTime parses an ISO 8601 time. It reports false for a zero or invalid time.
func parseTime(s string) (time.Time, bool) {
	t, err := fetcher.ParseTime(s)
	if err != nil || t.IsZero() {
		return time.Time{}, false
	}
	return t.UTC(), true
}
