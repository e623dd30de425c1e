package fetcher

// User is an account. A nil pointer field is null in the wire format.
type User struct {
	ID                string   `json:"id"`
	Username          string   `json:"username"` // without @
	Name              string   `json:"name"`
	CreatedAt         string   `json:"created_at"` // textual form, see FormatTime
	Description       *string  `json:"description"`
	Location          *string  `json:"location"`
	URL               *string  `json:"url"`
	ProfileImageURL   *string  `json:"profile_image_url"`
	ProfileBannerURL  *string  `json:"profile_banner_url"`
	FollowersCount    int64    `json:"followers_count"`
	FollowingCount    int64    `json:"following_count"`
	TweetCount        int64    `json:"tweet_count"`
	ListedCount       int64    `json:"listed_count"`
	FavouritesCount   *int64   `json:"favourites_count"`
	MediaCount        *int64   `json:"media_count"`
	Verified          bool     `json:"verified"`
	VerifiedType      *string  `json:"verified_type"`
	IsBlueVerified    *bool    `json:"is_blue_verified"`
	CreatedAtDatetime *string  `json:"created_at_datetime"` // ISO 8601
	Protected         *bool    `json:"protected"`
	PossiblySensitive *bool    `json:"possibly_sensitive"`
	FollowedBy        *bool    `json:"followed_by"`
	Following         *bool    `json:"following"`
	CanDM             *bool    `json:"can_dm"`
	ProfessionalType  *string  `json:"professional_type"`
	PinnedTweetIDs    []string `json:"pinned_tweet_ids"` // nil encodes as null
}
