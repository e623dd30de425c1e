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

// Sample returns a monitor's event and its post. The post has no author record, as on some
// platforms.
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

// Body returns the body of Sample after change has modified it. A nil change modifies nothing.
func Body(change func(*deliver.Event, *fetcher.Tweet)) []byte {
	e, t := Sample()
	if change != nil {
		change(e, t)
	}
	return deliver.AppendBody(nil, e, t)
}
