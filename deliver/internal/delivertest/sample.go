package delivertest

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// When the post of Sample was published and detected.
var (
	Published = time.Date(2026, 7, 24, 21, 5, 48, 792e6, time.UTC)
	Detected  = Published.Add(1234*time.Millisecond + 999*time.Microsecond)
)

// Sample is a post found by a monitor, from a platform that sends no author
// record along.
func Sample() (*deliver.Event, *fetcher.Tweet) {
	t := &fetcher.Tweet{
		ID: "2080761390344937796", Text: "cut…", FullText: "in full: <b>\"é\" & 🧵</b>",
		UserID: "42", Username: "nasa", UserName: "NASA", PublishedAt: Published,
	}
	e := &deliver.Event{
		ID: "evt_1", Source: deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_1", Owner: "me", Name: "space"},
		TweetID: t.ID, AuthorUsername: "nasa", TweetURL: "https://x.com/nasa/status/2080761390344937796",
		PublishedAt: Published, DetectedAt: Detected, Latency: Detected.Sub(Published),
	}
	return e, t
}

// Body is the body of Sample after a change, nil for none.
func Body(change func(*deliver.Event, *fetcher.Tweet)) []byte {
	e, t := Sample()
	if change != nil {
		change(e, t)
	}
	return deliver.AppendBody(nil, e, t)
}
