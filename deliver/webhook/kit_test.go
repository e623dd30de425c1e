package webhook_test

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	body   = `{"event":"tweet.detected"}`
	// Of body by secret.
	signature = "sha256=87332c9fe0d198b935feb7b6db9495b574e1cf9d13c89ba2da664914441e2ffd"
)

var (
	published = time.Date(2026, 7, 24, 21, 5, 48, 792e6, time.UTC)
	detected  = published.Add(1234*time.Millisecond + 999*time.Microsecond)
)

// sample is a post found by a monitor, from a platform that sends no author
// record along.
func sample() (*deliver.Event, *fetcher.Tweet) {
	t := &fetcher.Tweet{
		ID: "2080761390344937796", Text: "cut…", FullText: "in full: <b>\"é\" & 🧵</b>",
		UserID: "42", Username: "nasa", UserName: "NASA", PublishedAt: published,
	}
	e := &deliver.Event{
		ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "me", Name: "space"},
		TweetID: t.ID, AuthorUsername: "nasa", TweetURL: "https://x.com/nasa/status/2080761390344937796",
		PublishedAt: published, DetectedAt: detected, Latency: detected.Sub(published),
	}
	return e, t
}

// edited is the sample's body after a change.
func edited(change func(*deliver.Event, *fetcher.Tweet)) []byte {
	e, t := sample()
	if change != nil {
		change(e, t)
	}
	return deliver.AppendBody(nil, e, t)
}
