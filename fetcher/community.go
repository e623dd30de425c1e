package fetcher

// Community is a group of accounts with its own timeline.
type Community struct {
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	MemberCount       int64           `json:"member_count"`
	IsMember          bool            `json:"is_member"`
	IsNSFW            bool            `json:"is_nsfw"`
	InvitesPolicy     string          `json:"invites_policy"`
	CreatedAt         int64           `json:"created_at"` // Unix time as the platform gives it
	CreatedAtDatetime string          `json:"created_at_datetime"`
	Banner            Banner          `json:"banner"`
	CreatorID         string          `json:"creator_id"`
	CreatorUsername   string          `json:"creator_username"`
	CreatorName       string          `json:"creator_name"`
	AdminID           string          `json:"admin_id"`
	AdminUsername     string          `json:"admin_username"`
	AdminName         string          `json:"admin_name"`
	Rules             []CommunityRule `json:"rules"`
}

// Banner is a community's header picture.
type Banner struct {
	URL    string `json:"url"`
	Width  int64  `json:"width"`  // pixels
	Height int64  `json:"height"` // pixels
}

// CommunityRule is one of a community's house rules.
type CommunityRule struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}
