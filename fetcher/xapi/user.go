package xapi

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// user is an account in either generation of names.
type user struct {
	ID            ident       `json:"id"`
	Username      string      `json:"username"`
	Name          string      `json:"name"`
	CreatedAt     string      `json:"created_at"`
	Description   string      `json:"description"`
	Location      string      `json:"location"`
	URL           string      `json:"url"`
	Image         string      `json:"profile_image_url"`
	Banner        string      `json:"profile_banner_url"`
	Protected     *bool       `json:"protected"`
	Verified      bool        `json:"verified"`
	VerifiedType  string      `json:"verified_type"`
	PinnedPostID  ident       `json:"pinned_post_id"`
	PinnedTweetID ident       `json:"pinned_tweet_id"`
	Metrics       userMetrics `json:"public_metrics"`
}

type userMetrics struct {
	Posts     *count `json:"post_count"`
	Tweets    *count `json:"tweet_count"`
	Followers count  `json:"followers_count"`
	Following count  `json:"following_count"`
	Listed    count  `json:"listed_count"`
	Likes     *count `json:"like_count"`
	Media     *count `json:"media_count"`
}

// posts is how many posts an account has, nil when the answer does not tell.
func (m *userMetrics) posts() *count {
	if m.Posts != nil {
		return m.Posts
	}
	return m.Tweets
}

// record maps an account.
func (u *user) record() *fetcher.User {
	r := &fetcher.User{
		ID:               string(u.ID),
		Username:         u.Username,
		Name:             u.Name,
		Description:      optional(u.Description),
		Location:         optional(u.Location),
		URL:              optional(u.URL),
		ProfileImageURL:  optional(u.Image),
		ProfileBannerURL: optional(u.Banner),
		FollowersCount:   int64(u.Metrics.Followers),
		FollowingCount:   int64(u.Metrics.Following),
		ListedCount:      int64(u.Metrics.Listed),
		FavouritesCount:  (*int64)(u.Metrics.Likes),
		MediaCount:       (*int64)(u.Metrics.Media),
		Verified:         u.Verified,
		VerifiedType:     optional(u.VerifiedType),
		Protected:        u.Protected,
	}
	if n := u.Metrics.posts(); n != nil {
		r.TweetCount = int64(*n)
	}
	if at, err := fetcher.ParseTime(u.CreatedAt); err == nil {
		r.CreatedAt = fetcher.FormatTime(at)
		r.CreatedAtDatetime = optional(at.UTC().Format(time.RFC3339))
	}
	if id := first(u.PinnedPostID, u.PinnedTweetID); id != "" {
		r.PinnedTweetIDs = []string{string(id)}
	}
	return r
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
