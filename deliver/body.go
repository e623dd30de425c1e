package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// eventTweetDetected is the only kind of event in the wire format.
const eventTweetDetected = "tweet.detected"

// bodyTime is ISO 8601 in UTC with exactly milliseconds.
const bodyTime = "2006-01-02T15:04:05.000Z"

// maxLatencyMS is the largest latency_ms that a time.Duration holds.
const maxLatencyMS = int64(1<<63-1) / int64(time.Millisecond)

// AppendBody appends the tweet.detected object for event e and post t to dst, and returns the
// extended slice. The bytes depend only on e and t; AppendBody modifies neither. tweet_data is t
// and always has a user object: if t.User is nil, the object is made from t's author fields.
func AppendBody(dst []byte, e *Event, t *fetcher.Tweet) []byte {
	b := append(dst, `{"event":"`+eventTweetDetected+`"`...)
	if e.Source.Kind == SourceRule {
		b = appendText(b, `,"rule_id":`, e.Source.ID)
		b = appendText(b, `,"rule_tag":`, e.Source.Name)
	} else {
		b = appendText(b, `,"monitor_id":`, e.Source.ID)
		b = appendText(b, `,"monitor_name":`, e.Source.Name)
	}
	text := t.FullText
	if text == "" {
		text = t.Text
	}
	b = appendText(b, `,"tweet_id":`, e.TweetID)
	b = appendText(b, `,"author_username":`, e.AuthorUsername)
	b = appendText(b, `,"tweet_text":`, text)
	b = appendText(b, `,"tweet_url":`, e.TweetURL)
	if e.Platform != "" {
		b = appendText(b, `,"platform":`, e.Platform)
	}
	b = append(b, `,"tweet_published_at":"`...)
	b = e.PublishedAt.UTC().AppendFormat(b, bodyTime)
	b = append(b, `","detected_at":"`...)
	b = e.DetectedAt.UTC().AppendFormat(b, bodyTime)
	b = append(b, `","latency_ms":`...)
	b = strconv.AppendInt(b, e.Latency.Milliseconds(), 10)
	b = append(b, `,"tweet_data":`...)
	b = t.AppendJSON(b)
	if t.User == nil {
		author := fetcher.User{ID: t.UserID, Username: t.Username, Name: t.UserName}
		b = append(b[:len(b)-1], `,"user":`...) // reopens tweet_data
		b = append(author.AppendJSON(b), '}')
	}
	return append(b, '}')
}

func appendText(b []byte, key, v string) []byte { return fetcher.AppendString(append(b, key...), v) }

// Detected is a decoded tweet.detected object. Either the monitor or the rule
// fields are set.
type Detected struct {
	Event          string // "tweet.detected"
	Test           bool   // a test call: the post does not exist
	MonitorID      string
	MonitorName    string
	RuleID         string
	RuleTag        string
	TweetID        string
	AuthorUsername string
	TweetText      string
	TweetURL       string
	Platform       string        // name of the source of the post; "" for a source without a name
	PublishedAt    time.Time     // UTC, to the millisecond
	DetectedAt     time.Time     // UTC, to the millisecond
	Latency        time.Duration // whole milliseconds, never negative
	// Tweet is tweet_data, with PublishedAt and Permalink filled in.
	Tweet fetcher.Tweet
}

// body is the JSON form of Detected, with pointers for required members.
type body struct {
	Event          *string        `json:"event"`
	Test           bool           `json:"test"`
	MonitorID      *string        `json:"monitor_id"`
	MonitorName    *string        `json:"monitor_name"`
	RuleID         *string        `json:"rule_id"`
	RuleTag        *string        `json:"rule_tag"`
	TweetID        *string        `json:"tweet_id"`
	AuthorUsername *string        `json:"author_username"`
	TweetText      *string        `json:"tweet_text"`
	TweetURL       *string        `json:"tweet_url"`
	Platform       string         `json:"platform"`
	PublishedAt    *string        `json:"tweet_published_at"`
	DetectedAt     *string        `json:"detected_at"`
	LatencyMS      *int64         `json:"latency_ms"`
	TweetData      *fetcher.Tweet `json:"tweet_data"`
}

// ParseBody decodes a tweet.detected object: an Event.Body or the body of a webhook request. It
// ignores unknown members. If a member is missing or its value is not allowed, the error is a
// *FieldError. Check the signature first: see Verify.
func ParseBody(b []byte) (Detected, error) {
	var in body
	if err := json.Unmarshal(b, &in); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			field := te.Field
			if field == "" {
				field = "body"
			}
			return Detected{}, invalid.Field("deliver", field, te.Value, "the JSON type of "+te.Type.String())
		}
		return Detected{}, fmt.Errorf("deliver: body is not JSON: %w", err)
	}
	var p fieldReader
	out := Detected{Event: p.text("event", in.Event), Test: in.Test}
	if out.Event != eventTweetDetected {
		p.refuse("event", out.Event, eventTweetDetected)
	}
	if in.RuleID != nil && in.MonitorID == nil {
		out.RuleID, out.RuleTag = p.id("rule_id", in.RuleID), p.text("rule_tag", in.RuleTag)
	} else {
		out.MonitorID, out.MonitorName = p.id("monitor_id", in.MonitorID), p.text("monitor_name", in.MonitorName)
		if in.RuleID != nil {
			p.refuse("rule_id", *in.RuleID, "no rule_id beside a monitor_id")
		}
	}
	out.TweetID = p.id("tweet_id", in.TweetID)
	out.AuthorUsername = p.text("author_username", in.AuthorUsername)
	out.TweetText = p.text("tweet_text", in.TweetText)
	out.TweetURL = p.text("tweet_url", in.TweetURL)
	out.Platform = in.Platform
	out.PublishedAt = p.time("tweet_published_at", in.PublishedAt)
	out.DetectedAt = p.time("detected_at", in.DetectedAt)
	switch {
	case in.LatencyMS == nil:
		p.missing("latency_ms")
	case *in.LatencyMS < 0 || *in.LatencyMS > maxLatencyMS:
		p.refuse("latency_ms", strconv.FormatInt(*in.LatencyMS, 10), "0 to "+strconv.FormatInt(maxLatencyMS, 10))
	default:
		out.Latency = time.Duration(*in.LatencyMS) * time.Millisecond
	}
	if in.TweetData == nil {
		p.missing("tweet_data")
	}
	if p.err != nil {
		return Detected{}, p.err
	}
	out.Tweet = *in.TweetData
	out.Tweet.PublishedAt, out.Tweet.Permalink = out.PublishedAt, out.TweetURL
	return out, nil
}

// fieldReader checks members and keeps the first error.
type fieldReader struct{ err error }

func (p *fieldReader) refuse(field, value, allowed string) {
	if p.err == nil {
		p.err = invalid.Field("deliver", field, value, allowed)
	}
}

func (p *fieldReader) missing(field string) { p.refuse(field, "", "the field to be there") }

func (p *fieldReader) text(field string, v *string) string {
	if v == nil {
		p.missing(field)
		return ""
	}
	return *v
}

func (p *fieldReader) id(field string, v *string) string {
	s := p.text(field, v)
	if s == "" {
		p.refuse(field, s, "an id that is not empty")
	}
	return s
}

func (p *fieldReader) time(field string, v *string) time.Time {
	s := p.text(field, v)
	t, err := time.Parse(bodyTime, s)
	if err != nil {
		p.refuse(field, s, "ISO 8601 in UTC with milliseconds, such as "+bodyTime)
	}
	return t
}
