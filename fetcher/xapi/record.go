package xapi

import (
	"encoding/json"
	"fmt"

	"github.com/streamwatch/streamwatch/fetcher"
)

// document is an answer of the API in either generation of names.
type document struct {
	Data     json.RawMessage `json:"data"` // a list, or an object
	Includes includes        `json:"includes"`
	Errors   list[problem]   `json:"errors"`
	Meta     struct {
		ResultCount   count  `json:"result_count"`
		NewestID      ident  `json:"newest_id"`
		NextToken     string `json:"next_token"`
		PreviousToken string `json:"previous_token"`
	} `json:"meta"`
}

// decodeDocument reads an answer. The error is fetcher.ErrMalformed when it is no
// JSON object, or has none of the members of an answer.
func decodeDocument(body []byte) (*document, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("%w: %w", fetcher.ErrMalformed, err)
	}
	if members["data"] == nil && members["meta"] == nil && members["errors"] == nil {
		return nil, fmt.Errorf("%w: want an object with data, meta or errors", fetcher.ErrMalformed)
	}
	var d document
	if err := lenient(json.Unmarshal(body, &d)); err != nil {
		return nil, fmt.Errorf("%w: %w", fetcher.ErrMalformed, err)
	}
	return &d, nil
}

// includes are the records that an answer's posts refer to.
type includes struct {
	Posts  list[post]  `json:"posts"`
	Tweets list[post]  `json:"tweets"`
	Users  list[user]  `json:"users"`
	Media  list[media] `json:"media"`
	Polls  list[poll]  `json:"polls"`
	Places list[place] `json:"places"`
}

func (in *includes) post(id ident) *post {
	for _, posts := range []list[post]{in.Posts, in.Tweets} {
		for i := range posts {
			if posts[i].ID == id {
				return &posts[i]
			}
		}
	}
	return nil
}

func (in *includes) user(id ident) *user {
	for i := range in.Users {
		if in.Users[i].ID == id && id != "" {
			return &in.Users[i]
		}
	}
	return nil
}

// post is a post in either generation of names. Fields of one thing stand together,
// the name of today first.
type post struct {
	ID        ident  `json:"id"`
	Text      string `json:"text"`
	NotePost  *note  `json:"note_post"`
	NoteTweet *note  `json:"note_tweet"`
	CreatedAt string `json:"created_at"`
	Lang      string `json:"lang"`
	Source    string `json:"source"`
	AuthorID  ident  `json:"author_id"`
	relations
	EditHistory       []ident     `json:"edit_history_post_ids"`
	EditHistoryTweets []ident     `json:"edit_history_tweet_ids"`
	EditControls      edits       `json:"edit_controls"`
	Entities          entities    `json:"entities"`
	Attachments       attachments `json:"attachments"`
	Geo               geo         `json:"geo"`
	Metrics           metrics     `json:"public_metrics"`
	Sensitive         bool        `json:"possibly_sensitive"`
	CardURI           string      `json:"card_uri"`
}

// relations are a post's to others.
type relations struct {
	ConversationID   ident     `json:"conversation_id"`
	InReplyToUserID  ident     `json:"in_reply_to_user_id"`
	ReferencedPosts  list[ref] `json:"referenced_posts"`
	ReferencedTweets list[ref] `json:"referenced_tweets"`
}

// note is the text of a post that is longer than text may be.
type note struct {
	Text     string   `json:"text"`
	Entities entities `json:"entities"`
}

// ref is a post that a post refers to: as "retweeted", "quoted" or "replied_to".
type ref struct {
	Type string `json:"type"`
	ID   ident  `json:"id"`
}

type edits struct {
	Remaining count  `json:"edits_remaining"`
	Eligible  bool   `json:"is_edit_eligible"`
	Until     string `json:"editable_until"`
}

type entities struct {
	URLs     list[link]    `json:"urls"`
	Hashtags list[hashtag] `json:"hashtags"`
	Mentions list[mention] `json:"mentions"`
}

type link struct {
	URL         string `json:"url"`
	ExpandedURL string `json:"expanded_url"`
	DisplayURL  string `json:"display_url"`
	UnwoundURL  string `json:"unwound_url"`
}

type hashtag struct {
	Tag   string `json:"tag"`
	Start count  `json:"start"`
	End   count  `json:"end"`
}

type mention struct {
	Username string `json:"username"`
	ID       ident  `json:"id"`
	Start    count  `json:"start"`
	End      count  `json:"end"`
}

type attachments struct {
	MediaKeys []ident `json:"media_keys"`
	PollIDs   []ident `json:"poll_ids"`
}

type geo struct {
	PlaceID ident `json:"place_id"`
}

// metrics are a post's counts. Streams send some as strings under names of their own.
type metrics struct {
	Likes     count `json:"like_count"`
	Reposts   count `json:"repost_count"`
	Retweets  count `json:"retweet_count"`
	Replies   count `json:"reply_count"`
	Quotes    count `json:"quote_count"`
	Views     count `json:"impression_count"`
	Bookmarks count `json:"bookmark_count"`
}

type media struct {
	Key      ident         `json:"media_key"`
	Type     string        `json:"type"`
	URL      string        `json:"url"`
	Preview  string        `json:"preview_image_url"`
	Width    count         `json:"width"`
	Height   count         `json:"height"`
	Duration count         `json:"duration_ms"`
	AltText  string        `json:"alt_text"`
	Variants list[variant] `json:"variants"`
	Metrics  struct {
		Views count `json:"view_count"`
	} `json:"public_metrics"`
}

type variant struct {
	BitRate     count  `json:"bit_rate"`
	ContentType string `json:"content_type"`
	URL         string `json:"url"`
}

type poll struct {
	ID       ident        `json:"id"`
	End      string       `json:"end_datetime"`
	Duration count        `json:"duration_minutes"`
	Options  list[option] `json:"options"`
}

type option struct {
	Position count  `json:"position"`
	Label    string `json:"label"`
	Votes    count  `json:"votes"`
}

type place struct {
	ID          ident  `json:"id"`
	FullName    string `json:"full_name"`
	Name        string `json:"name"`
	Country     string `json:"country"`
	CountryCode string `json:"country_code"`
}
