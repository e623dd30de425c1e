package main

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// sample is one post and its event. Lists are never nil: encoders that reflect
// would write null, which the wire format does not allow.
type sample struct {
	name  string
	event deliver.Event
	tweet fetcher.Tweet
}

// samples are a bare post, one with everything a busy account attaches, and
// one whose text is full of what JSON has to escape.
func samples() []sample {
	short := post("Launch in ten minutes.")
	full := post("Liftoff! 🚀 The crew is on its way to the station, and the booster is coming home. " +
		"Watch the docking live tomorrow at 14:20 UTC with @esa https://t.co/abcdefghij #space #launch")
	full.Media = []fetcher.Media{{
		MediaKey: "3_1790000000000000001", Type: "photo", URL: "https://pbs.example.com/media/GZ1.jpg",
		Width: 4096, Height: 2731, AltText: "A rocket leaves the pad in a cloud of steam.",
	}, {
		MediaKey: "13_1790000000000000002", Type: "video", URL: "https://video.example.com/v/1.mp4",
		PreviewImageURL: "https://pbs.example.com/media/GZ2.jpg", Width: 1920, Height: 1080, DurationMS: 31_400, ViewCount: 88_120,
	}}
	full.URLs = []fetcher.URL{{URL: "https://t.co/abcdefghij", ExpandedURL: "https://example.com/live/docking",
		DisplayURL: "example.com/live/docking", UnwoundURL: "https://example.com/live/docking?lang=en"}}
	full.Hashtags = []fetcher.Hashtag{{Text: "space", Indices: []int{160, 166}}, {Text: "launch", Indices: []int{167, 174}}}
	full.UserMentions = []fetcher.Mention{{ID: "2451", Username: "esa", Name: "ESA", Indices: []int{131, 135}}}
	full.EditTweetIDs = []string{full.ID}
	full.HasCard = true
	escaped := post(strings.Repeat("\"quoted\"\n\tback\\slash ", 12))
	return []sample{{"short", event(&short), short}, {"full", event(&full), full}, {"escaped", event(&escaped), escaped}}
}

func post(text string) fetcher.Tweet {
	published := time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)
	description, location, link := "Exploring since 1958.", "Washington, D.C.", "https://www.example.com/"
	verified, favourites := true, int64(16_120)
	return fetcher.Tweet{
		ID: "1900000000000000001", Text: text, FullText: text, CreatedAt: fetcher.FormatTime(published), Lang: "en",
		UserID: "11348282", Username: "nasa", UserName: "NASA",
		FavoriteCount: 12_345, RetweetCount: 2_345, ReplyCount: 345, QuoteCount: 45, ViewCount: 1_234_567, BookmarkCount: 678,
		ConversationID: "1900000000000000001",
		Media:          []fetcher.Media{}, URLs: []fetcher.URL{}, Hashtags: []fetcher.Hashtag{}, UserMentions: []fetcher.Mention{},
		EditTweetIDs: []string{}, EditableUntilMsecs: published.Add(time.Hour).UnixMilli(), EditsRemaining: 5, IsEditEligible: true,
		Source: "Web App",
		User: &fetcher.User{
			ID: "11348282", Username: "nasa", Name: "NASA", CreatedAt: "Wed Dec 19 20:20:32 +0000 2007",
			Description: &description, Location: &location, URL: &link,
			FollowersCount: 86_000_000, FollowingCount: 170, TweetCount: 73_000, ListedCount: 97_000,
			FavouritesCount: &favourites, Verified: true, IsBlueVerified: &verified,
		},
		PublishedAt: published,
	}
}

func event(t *fetcher.Tweet) deliver.Event {
	const source = "mon_benchmark"
	return deliver.Event{
		ID:      deliver.EventID(source, t.ID),
		Source:  deliver.Source{Kind: deliver.SourceMonitor, ID: source, Owner: "acme", Name: "space"},
		TweetID: t.ID, AuthorUsername: t.Username,
		TweetURL:    "https://x.com/" + t.Username + "/status/" + t.ID,
		PublishedAt: t.PublishedAt,
		DetectedAt:  t.PublishedAt.Add(812 * time.Millisecond),
		Latency:     812 * time.Millisecond,
	}
}
