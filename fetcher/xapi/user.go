package xapi

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// user is an account with the old or the new names of fields.
type user struct {
	ID           string      `json:"id"`
	Username     string      `json:"username"`
	Name         string      `json:"name"`
	CreatedAt    string      `json:"created_at"`
	Description  string      `json:"description"`
	Location     string      `json:"location"`
	URL          string      `json:"url"`
	Image        string      `json:"profile_image_url"`
	Banner       string      `json:"profile_banner_url"`
	Protected    *bool       `json:"protected"`
	Verified     bool        `json:"verified"`
	VerifiedType string      `json:"verified_type"`
	Metrics      userMetrics `json:"public_metrics"`
}

type userMetrics struct {
	Posts     *int64 `json:"post_count"`
	Tweets    *int64 `json:"tweet_count"`
	Followers int64  `json:"followers_count"`
	Following int64  `json:"following_count"`
	Listed    int64  `json:"listed_count"`
	Likes     *int64 `json:"like_count"`
	Media     *int64 `json:"media_count"`
}

// posts returns the number of an account's posts, or nil if the answer does not have it.
func (m *userMetrics) posts() *int64 {
	if m.Posts != nil {
		return m.Posts
	}
	return m.Tweets
}

// record converts an account to a fetcher.User.
func (u *user) record() *fetcher.User {
	r := &fetcher.User{
		ID:               u.ID,
		Username:         u.Username,
		Name:             unescape(u.Name),
		Description:      optional(unescape(u.Description)),
		Location:         optional(unescape(u.Location)),
		URL:              optional(u.URL),
		ProfileImageURL:  optional(u.Image),
		ProfileBannerURL: optional(u.Banner),
		FollowersCount:   u.Metrics.Followers,
		FollowingCount:   u.Metrics.Following,
		ListedCount:      u.Metrics.Listed,
		FavouritesCount:  u.Metrics.Likes,
		MediaCount:       u.Metrics.Media,
		Verified:         u.Verified,
		VerifiedType:     optional(u.VerifiedType),
		Protected:        u.Protected,
	}
	if n := u.Metrics.posts(); n != nil {
		r.TweetCount = *n
	}
	if at, err := fetcher.ParseTime(u.CreatedAt); err == nil {
		r.CreatedAt = fetcher.FormatTime(at)
		r.CreatedAtDatetime = optional(at.UTC().Format(time.RFC3339))
	}
	return r
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
