package main

import (
	"github.com/streamwatch/streamwatch/fetcher"
)

// bodyTime is the wire format's form of a moment: UTC, milliseconds.
const bodyTime = "2006-01-02T15:04:05.000Z"

// body is the tweet.detected object of a monitor for encoders that reflect.
type body struct {
	Event          string     `json:"event"`
	MonitorID      string     `json:"monitor_id"`
	MonitorName    string     `json:"monitor_name"`
	TweetID        string     `json:"tweet_id"`
	AuthorUsername string     `json:"author_username"`
	TweetText      string     `json:"tweet_text"`
	TweetURL       string     `json:"tweet_url"`
	PublishedAt    string     `json:"tweet_published_at"`
	DetectedAt     string     `json:"detected_at"`
	LatencyMS      int64      `json:"latency_ms"`
	TweetData      *plainPost `json:"tweet_data"`
}

// plainPost has the fields of a post without its MarshalJSON, which would hand
// the work back to streamwatch's own encoder.
type plainPost fetcher.Tweet

func bodyOf(s *sample) *body {
	return &body{
		Event:          "tweet.detected",
		MonitorID:      s.event.Source.ID,
		MonitorName:    s.event.Source.Name,
		TweetID:        s.event.TweetID,
		AuthorUsername: s.event.AuthorUsername,
		TweetText:      s.tweet.FullText,
		TweetURL:       s.event.TweetURL,
		PublishedAt:    s.event.PublishedAt.UTC().Format(bodyTime),
		DetectedAt:     s.event.DetectedAt.UTC().Format(bodyTime),
		LatencyMS:      s.event.Latency.Milliseconds(),
		TweetData:      (*plainPost)(&s.tweet),
	}
}
