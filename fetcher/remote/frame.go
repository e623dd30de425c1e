package remote

import (
	"math"

	"github.com/streamwatch/streamwatch/fetcher"
)

// frame is a message of the service. The comment of each field names the Types that use it.
type frame struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"` // connected, tweet

	KeyID string `json:"api_key_id"` // connected
	To    uint64 `json:"to_seq"`     // gap
	Epoch uint64 `json:"epoch"`      // connected, gap: epoch of the next numbers, 0 for none

	Timestamp string `json:"timestamp"` // ping

	Code    int    `json:"code"` // error
	Message string `json:"message"`

	AuthorUsername string         `json:"author_username"` // tweet
	TweetURL       string         `json:"tweet_url"`
	Platform       string         `json:"platform"`
	PublishedAt    string         `json:"tweet_published_at"`
	DetectedAt     string         `json:"detected_at"`
	Tweet          *fetcher.Tweet `json:"tweet_data"`
}

// Types of frames.
const (
	typeConnected = "connected"
	typeTweet     = "tweet"
	typeGap       = "gap"
	typePing      = "ping"
	typeError     = "error"
)

// Codes of error frames.
const codeBadKey = 4001

// parseFrame parses a message. ok is false if b is not a JSON object with a type.
func parseFrame(b []byte) (f frame, ok bool) {
	if err := unmarshal(b, &f); err != nil {
		return frame{}, false
	}
	// The service's numbers have 63 bits.
	f.Seq, f.To = min(f.Seq, math.MaxInt64), min(f.To, math.MaxInt64)
	return f, f.Type != ""
}

// post returns the post in a tweet frame, or nil if it has no id or no time.
func (f *frame) post() *fetcher.Tweet {
	t := f.Tweet
	if t == nil || t.ID == "" {
		return nil
	}
	t.PublishedAt, t.Permalink = published(t.ID, t.CreatedAt), f.TweetURL
	if at, err := fetcher.ParseTime(f.PublishedAt); err == nil {
		t.PublishedAt = at.UTC()
	}
	if t.PublishedAt.IsZero() {
		return nil
	}
	if t.Username == "" {
		t.Username = f.AuthorUsername
	}
	if sourcePath.MatchString(f.Platform) {
		t.Platform = f.Platform
	}
	whole(t)
	return t
}
