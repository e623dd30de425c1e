package main

// structs are what encoding/json decodes a platform's answers into, one target
// for each, and the ids that it found.
type structs struct {
	targets []any
	ids     func() []string
}

// status has the members of Mastodon's Status that the adapter maps, with
// plain Go types.
type status struct {
	ID              string   `json:"id"`
	URI             string   `json:"uri"`
	URL             string   `json:"url"`
	CreatedAt       string   `json:"created_at"`
	Account         *account `json:"account"`
	Content         string   `json:"content"`
	SpoilerText     string   `json:"spoiler_text"`
	Language        string   `json:"language"`
	Sensitive       bool     `json:"sensitive"`
	InReplyToID     string   `json:"in_reply_to_id"`
	InReplyToUserID string   `json:"in_reply_to_account_id"`
	Reblog          *status  `json:"reblog"`
	Pinned          bool     `json:"pinned"`
	Media           []struct {
		ID          string `json:"id"`
		Type        string `json:"type"`
		URL         string `json:"url"`
		PreviewURL  string `json:"preview_url"`
		RemoteURL   string `json:"remote_url"`
		Description string `json:"description"`
		Meta        struct {
			Original struct {
				Width    float64 `json:"width"`
				Height   float64 `json:"height"`
				Duration float64 `json:"duration"`
			} `json:"original"`
		} `json:"meta"`
	} `json:"media_attachments"`
	Mentions []struct {
		ID       string `json:"id"`
		Username string `json:"username"`
		Acct     string `json:"acct"`
		URL      string `json:"url"`
	} `json:"mentions"`
	Tags []struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"tags"`
	Card *struct {
		URL   string `json:"url"`
		Title string `json:"title"`
		Image string `json:"image"`
	} `json:"card"`
	Application *struct {
		Name string `json:"name"`
	} `json:"application"`
	RepliesCount    int64 `json:"replies_count"`
	ReblogsCount    int64 `json:"reblogs_count"`
	FavouritesCount int64 `json:"favourites_count"`
	QuotesCount     int64 `json:"quotes_count"`
}

type account struct {
	ID             string `json:"id"`
	Username       string `json:"username"`
	Acct           string `json:"acct"`
	DisplayName    string `json:"display_name"`
	CreatedAt      string `json:"created_at"`
	Note           string `json:"note"`
	URL            string `json:"url"`
	Avatar         string `json:"avatar"`
	Header         string `json:"header"`
	FollowersCount int64  `json:"followers_count"`
	FollowingCount int64  `json:"following_count"`
	StatusesCount  int64  `json:"statuses_count"`
}

// feed is Bluesky's getAuthorFeed, and records its listRecords.
type feed struct {
	Feed []struct {
		Post struct {
			URI           string  `json:"uri"`
			Author        profile `json:"author"`
			Record        record  `json:"record"`
			Embed         embed   `json:"embed"`
			ReplyCount    int64   `json:"replyCount"`
			RepostCount   int64   `json:"repostCount"`
			LikeCount     int64   `json:"likeCount"`
			QuoteCount    int64   `json:"quoteCount"`
			BookmarkCount int64   `json:"bookmarkCount"`
			IndexedAt     string  `json:"indexedAt"`
			Labels        []struct {
				Val string `json:"val"`
			} `json:"labels"`
		} `json:"post"`
		Reason struct {
			Type      string  `json:"$type"`
			By        profile `json:"by"`
			URI       string  `json:"uri"`
			IndexedAt string  `json:"indexedAt"`
		} `json:"reason"`
	} `json:"feed"`
	Cursor string `json:"cursor"`
}

type records struct {
	Records []struct {
		URI   string `json:"uri"`
		Value record `json:"value"`
	} `json:"records"`
	Cursor string `json:"cursor"`
}

type profile struct {
	DID         string `json:"did"`
	Handle      string `json:"handle"`
	DisplayName string `json:"displayName"`
	Avatar      string `json:"avatar"`
	CreatedAt   string `json:"createdAt"`
}

type strongRef struct {
	URI string `json:"uri"`
}

type record struct {
	Text      string   `json:"text"`
	CreatedAt string   `json:"createdAt"`
	Langs     []string `json:"langs"`
	Reply     struct {
		Root   strongRef `json:"root"`
		Parent strongRef `json:"parent"`
	} `json:"reply"`
	Facets []struct {
		Index struct {
			ByteStart int `json:"byteStart"`
			ByteEnd   int `json:"byteEnd"`
		} `json:"index"`
		Features []struct {
			Type string `json:"$type"`
			URI  string `json:"uri"`
			Tag  string `json:"tag"`
			DID  string `json:"did"`
		} `json:"features"`
	} `json:"facets"`
	Embed   embed     `json:"embed"`
	Subject strongRef `json:"subject"`
}

type embed struct {
	Images []struct {
		Alt      string `json:"alt"`
		Thumb    string `json:"thumb"`
		Fullsize string `json:"fullsize"`
		Image    struct {
			Ref struct {
				Link string `json:"$link"`
			} `json:"ref"`
		} `json:"image"`
		AspectRatio struct {
			Width  int `json:"width"`
			Height int `json:"height"`
		} `json:"aspectRatio"`
	} `json:"images"`
}
