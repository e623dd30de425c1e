package fetcher

import "time"

// Tweet is one post of any platform, with the fields of the wire format. Fields that a platform
// does not have stay zero. In JSON a nil list is [], not null; a nil Poll, Place, User or Entry
// is left out.
type Tweet struct {
	ID       string `json:"id"` // opaque; unique within the platform; at most 512 bytes
	Text     string `json:"text"`
	FullText string `json:"full_text"` // not cut; the same as Text if the platform does not cut texts
	// CreatedAt is the publication time in the form "Mon Jan 02 15:04:05 -0700 2006"
	// (see FormatTime), in whole seconds. Use PublishedAt to measure latency.
	CreatedAt string `json:"created_at"`
	Lang      string `json:"lang"` // language code, "" or "und" when unknown

	UserID   string `json:"user_id"`
	Username string `json:"username"` // handle without @
	UserName string `json:"user_name"`

	FavoriteCount int64 `json:"favorite_count"`
	RetweetCount  int64 `json:"retweet_count"`
	ReplyCount    int64 `json:"reply_count"`
	QuoteCount    int64 `json:"quote_count"`
	ViewCount     int64 `json:"view_count"`
	BookmarkCount int64 `json:"bookmark_count"`

	Favorited         bool `json:"favorited"`
	Retweeted         bool `json:"retweeted"`
	Bookmarked        bool `json:"bookmarked"`
	PossiblySensitive bool `json:"possibly_sensitive"`
	IsQuoteStatus     bool `json:"is_quote_status"`
	IsRetweet         bool `json:"is_retweet"`

	ConversationID    string `json:"conversation_id"`
	InReplyToStatusID string `json:"in_reply_to_status_id"`
	InReplyToUserID   string `json:"in_reply_to_user_id"`
	QuotedStatusID    string `json:"quoted_status_id"`
	RetweetedStatusID string `json:"retweeted_status_id"`

	Media        []Media   `json:"media"`
	URLs         []URL     `json:"urls"`
	Hashtags     []Hashtag `json:"hashtags"`
	UserMentions []Mention `json:"user_mentions"`
	Poll         *Poll     `json:"poll,omitempty"`
	Place        *Place    `json:"place,omitempty"`

	EditTweetIDs       []string `json:"edit_tweet_ids"` // ascending, newest last
	EditableUntilMsecs int64    `json:"editable_until_msecs"`
	EditsRemaining     int64    `json:"edits_remaining"`
	IsEditEligible     bool     `json:"is_edit_eligible"`

	HasCard           bool   `json:"has_card"`
	ThumbnailURL      string `json:"thumbnail_url"`
	ThumbnailTitle    string `json:"thumbnail_title"`
	HasCommunityNotes bool   `json:"has_community_notes"`
	Source            string `json:"source"` // client name

	// Visibility says who can see the post: on Mastodon public, unlisted, private (followers) or
	// direct. It is "", and left out of the JSON, if the platform does not say.
	Visibility string `json:"visibility,omitempty"`

	// User is the author's full record, if the platform sends it with the post.
	User *User `json:"user,omitempty"`
	// Entry is set only in entries of feeds, with the fields that other posts do not have.
	Entry *Entry `json:"entry,omitempty"`

	// PublishedAt is when the post was published, to the millisecond if possible. If the
	// platform's ids contain the time, take it from the id; otherwise take it from the post.
	// The engine drops a post without PublishedAt as malformed.
	PublishedAt time.Time `json:"-"`
	// Permalink is the post's public URL. If it is "", the engine derives that of X for a handle of
	// a source without a name, and otherwise tells none.
	Permalink string `json:"-"`
	// Pinned marks a post that is shown at the top of the timeline, out of order.
	Pinned bool `json:"-"`
	// Platform is the name of the post's source at another streamwatch service, as fetcher/remote
	// reads it. Its author is then the account Platform + ":" + Username. It is "" in posts of
	// other adapters.
	Platform string `json:"-"`
}

// Media is an attached picture, video or animation.
type Media struct {
	MediaKey        string `json:"media_key"`
	Type            string `json:"type"` // photo, video, animated_gif, audio or "" when unknown
	URL             string `json:"url"`
	PreviewImageURL string `json:"preview_image_url"`
	Width           int64  `json:"width"`  // pixels
	Height          int64  `json:"height"` // pixels
	DurationMS      int64  `json:"duration_ms"`
	ViewCount       int64  `json:"view_count"`
	AltText         string `json:"alt_text"`
}

// URL is a link in a post's text.
type URL struct {
	URL         string `json:"url"`
	ExpandedURL string `json:"expanded_url"`
	DisplayURL  string `json:"display_url"`
	UnwoundURL  string `json:"unwound_url"`
}

// Hashtag is a #tag, without the #. Indices are the start and end offsets in the text, in
// Unicode code points. The platform sets them.
type Hashtag struct {
	Text    string `json:"text"`
	Indices []int  `json:"indices"`
}

// Mention is an account named in a post's text.
type Mention struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Name     string `json:"name"`
	Indices  []int  `json:"indices"`
}

// Poll is a question with options.
type Poll struct {
	ID              string       `json:"id"`
	EndDatetime     string       `json:"end_datetime"`
	DurationMinutes int64        `json:"duration_minutes"`
	Options         []PollOption `json:"options"`
}

// PollOption is one answer of a poll.
type PollOption struct {
	Position int64  `json:"position"` // from 1
	Label    string `json:"label"`
	Votes    int64  `json:"votes"`
}

// Place is a tagged location.
type Place struct {
	ID          string `json:"id"`
	FullName    string `json:"full_name"`
	Name        string `json:"name"`
	Country     string `json:"country"`
	CountryCode string `json:"country_code"` // ISO 3166-1 alpha-2
}

// SourceName returns the name of a post's source that is platform at the source own: the names
// joined by a colon, or the one that is not "".
func SourceName(own, platform string) string {
	if own == "" || platform == "" {
		return own + platform
	}
	return own + ":" + platform
}

// IsReply reports whether the post is a reply to another post.
func (t *Tweet) IsReply() bool { return t.InReplyToStatusID != "" }

// FormatTime returns t in the form of created_at, in UTC.
func FormatTime(t time.Time) string { return t.UTC().Format(time.RubyDate) }

// ParseTime parses a time in the form of created_at or of RFC 3339.
func ParseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	return time.Parse(time.RubyDate, s)
}
