package poll

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// event returns the event of a post for a source.
func (j *judge) event(earliest time.Time, src deliver.Source, tw *fetcher.Tweet, pg *Page, now time.Time) deliver.Event {
	ev := deliver.Event{
		Source:      src,
		Platform:    fetcher.SourceName(j.env.Platform, tw.Platform),
		PublishedAt: tw.PublishedAt,
		EarliestAt:  earliest,
		RequestedAt: pg.Asked,
		FetchedAt:   pg.At,
		DetectedAt:  now,
		Latency:     now.Sub(tw.PublishedAt).Truncate(time.Millisecond), // times are to the millisecond
		Handlers:    j.env.Handlers,
	}
	Describe(&ev, tw)
	if ev.Latency < 0 {
		j.env.Count.Negative.Add(1)
		ev.Latency = 0
	}
	j.scratch = deliver.AppendBody(j.scratch[:0], &ev, tw)
	ev.Body = append([]byte(nil), j.scratch...)
	return ev
}

// Describe sets the fields of an event that its post, Source and Platform determine, except for the
// times and the body.
func Describe(ev *deliver.Event, tw *fetcher.Tweet) {
	ev.ID = eventID(ev.Platform, ev.Source.ID, tw.ID)
	ev.TweetID, ev.AuthorUsername, ev.TextPreview, ev.TweetURL = tw.ID, tw.Username, preview(tw), tw.Permalink
	if ev.TweetURL == "" && ev.Platform == "" && !strings.ContainsAny(tw.Username, ".:/@") {
		ev.TweetURL = "https://x.com/" + tw.Username + "/status/" + tw.ID
	}
}

// eventID returns an event's id. It includes the platform, because posts of several
// platforms may have the same id.
func eventID(platform, sourceID, tweetID string) string {
	if platform != "" {
		tweetID = platform + ":" + tweetID
	}
	return deliver.EventID(sourceID, tweetID)
}

// preview returns the first 100 characters of the text.
func preview(tw *fetcher.Tweet) string {
	text := tw.FullText
	if text == "" {
		text = tw.Text
	}
	n := 0
	for i := range text {
		if n++; n > 100 {
			return strings.Clone(text[:i])
		}
	}
	return text
}

// knownPage finds which posts of a page are known. It asks a Set once per page, which is faster,
// and a window once per post.
type knownPage struct {
	ids   []string
	known []bool
}

func (k *knownPage) look(set *seen.Set, tweets []fetcher.Tweet) {
	if set == nil {
		return
	}
	k.ids = k.ids[:0]
	for i := range tweets {
		k.ids = append(k.ids, tweets[i].ID)
	}
	if cap(k.known) < len(k.ids) {
		k.known = make([]bool, len(k.ids))
	}
	k.known = k.known[:len(k.ids)]
	set.HasEach(k.ids, k.known)
	clear(k.ids)
}

// knows reports whether a post, the i-th of its page, is known.
func (k *knownPage) knows(p *Poll, i int, id string) bool {
	if p.Plan.Set != nil {
		return k.known[i]
	}
	return p.Plan.Window.Has(id)
}
