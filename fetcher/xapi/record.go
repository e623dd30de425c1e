package xapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/streamwatch/streamwatch/fetcher"
)

// document is an answer of the API: a list of posts, accounts, rules or subscriptions.
// decode leaves members of an unexpected type empty.
type document[T any] struct {
	Data     []T       `json:"data"`
	Includes includes  `json:"includes"`
	Errors   []problem `json:"errors"`
	Meta     *struct {
		ResultCount int64  `json:"result_count"`
		NextToken   string `json:"next_token"`
	} `json:"meta"`
}

// leastRecord is the length of a short record in JSON, in bytes. decode estimates the number of
// records with it.
const leastRecord = 512

// decode decodes an answer. It returns fetcher.ErrMalformed if body is not a JSON object, if
// body has none of the members data, meta and errors, if data is not a list, or if data is
// missing although meta counts results.
func decode[T any](body []byte) (*document[T], error) {
	d := document[T]{Data: make([]T, 0, min(len(body)/leastRecord, mostPosts))}
	err := json.Unmarshal(body, &d)
	var odd *json.UnmarshalTypeError
	if errors.As(err, &odd) && odd.Field != "" && (odd.Field != "data" || odd.Type.Kind() != reflect.Slice) {
		err = nil
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", fetcher.ErrMalformed, err)
	case len(d.Data) == 0 && d.Meta == nil && d.Errors == nil:
		return nil, fmt.Errorf("%w: want an object with data, meta or errors", fetcher.ErrMalformed)
	case len(d.Data) == 0 && d.Meta != nil && d.Meta.ResultCount > 0:
		return nil, fmt.Errorf("%w: %d results, and no data", fetcher.ErrMalformed, d.Meta.ResultCount)
	}
	return &d, nil
}

// nextToken returns the token of the next page, or "" if there is none. It returns
// fetcher.ErrMalformed for an invalid token.
func (d *document[T]) nextToken() (string, error) {
	if d.Meta == nil || d.Meta.NextToken == "" {
		return "", nil
	}
	if !soundToken(d.Meta.NextToken) {
		return "", fmt.Errorf("%w: meta.next_token is not a token", fetcher.ErrMalformed)
	}
	return d.Meta.NextToken, nil
}

// includes has the records that the posts of an answer refer to.
type includes struct {
	Posts  []post  `json:"posts"`
	Tweets []post  `json:"tweets"`
	Users  []user  `json:"users"`
	Media  []media `json:"media"`
	Polls  []poll  `json:"polls"`
	Places []place `json:"places"`
}

func (in *includes) post(id string) *post {
	for _, posts := range [][]post{in.Posts, in.Tweets} {
		for i := range posts {
			if posts[i].ID == id {
				return &posts[i]
			}
		}
	}
	return nil
}

func (in *includes) user(id string) *user {
	for i := range in.Users {
		if in.Users[i].ID == id && id != "" {
			return &in.Users[i]
		}
	}
	return nil
}

// post is a post in an answer. It has each field under its new and its old name, next to each
// other, the new name first.
type post struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	NotePost  *note  `json:"note_post"`
	NoteTweet *note  `json:"note_tweet"`
	CreatedAt string `json:"created_at"`
	Lang      string `json:"lang"`
	Source    string `json:"source"`
	AuthorID  string `json:"author_id"`
	relations
	EditHistory       []string    `json:"edit_history_post_ids"`
	EditHistoryTweets []string    `json:"edit_history_tweet_ids"`
	EditControls      edits       `json:"edit_controls"`
	Entities          entities    `json:"entities"`
	Attachments       attachments `json:"attachments"`
	Geo               geo         `json:"geo"`
	Metrics           metrics     `json:"public_metrics"`
	Sensitive         bool        `json:"possibly_sensitive"`
	CardURI           string      `json:"card_uri"`
}

// relations are the fields of a post that refer to other posts and accounts.
type relations struct {
	ConversationID   string `json:"conversation_id"`
	InReplyToUserID  string `json:"in_reply_to_user_id"`
	ReferencedPosts  []ref  `json:"referenced_posts"`
	ReferencedTweets []ref  `json:"referenced_tweets"`
}

// note is the whole text of a long post.
type note struct {
	Text     string   `json:"text"`
	Entities entities `json:"entities"`
}

// ref is a reference to another post. Type is "retweeted", "quoted" or "replied_to".
type ref struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

type edits struct {
	Remaining int64  `json:"edits_remaining"`
	Eligible  bool   `json:"is_edit_eligible"`
	Until     string `json:"editable_until"`
}

type entities struct {
	URLs     []link    `json:"urls"`
	Hashtags []hashtag `json:"hashtags"`
	Mentions []mention `json:"mentions"`
}

type link struct {
	URL         string `json:"url"`
	ExpandedURL string `json:"expanded_url"`
	DisplayURL  string `json:"display_url"`
	UnwoundURL  string `json:"unwound_url"`
}

type hashtag struct {
	Tag   string `json:"tag"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
}

type mention struct {
	Username string `json:"username"`
	ID       string `json:"id"`
	Start    int64  `json:"start"`
	End      int64  `json:"end"`
}

type attachments struct {
	MediaKeys []string `json:"media_keys"`
	PollIDs   []string `json:"poll_ids"`
}

type geo struct {
	PlaceID string `json:"place_id"`
}

// metrics are the counts of a post, under their old and new names.
type metrics struct {
	Likes     int64 `json:"like_count"`
	Reposts   int64 `json:"repost_count"`
	Retweets  int64 `json:"retweet_count"`
	Replies   int64 `json:"reply_count"`
	Quotes    int64 `json:"quote_count"`
	Views     int64 `json:"impression_count"`
	Bookmarks int64 `json:"bookmark_count"`
}

type media struct {
	Key      string    `json:"media_key"`
	Type     string    `json:"type"`
	URL      string    `json:"url"`
	Preview  string    `json:"preview_image_url"`
	Width    int64     `json:"width"`
	Height   int64     `json:"height"`
	Duration int64     `json:"duration_ms"`
	AltText  string    `json:"alt_text"`
	Variants []variant `json:"variants"`
	Metrics  struct {
		Views int64 `json:"view_count"`
	} `json:"public_metrics"`
}

type variant struct {
	BitRate     int64  `json:"bit_rate"`
	ContentType string `json:"content_type"`
	URL         string `json:"url"`
}

type poll struct {
	ID       string   `json:"id"`
	End      string   `json:"end_datetime"`
	Duration int64    `json:"duration_minutes"`
	Options  []option `json:"options"`
}

type option struct {
	Position int64  `json:"position"`
	Label    string `json:"label"`
	Votes    int64  `json:"votes"`
}

type place struct {
	ID          string `json:"id"`
	FullName    string `json:"full_name"`
	Name        string `json:"name"`
	Country     string `json:"country"`
	CountryCode string `json:"country_code"`
}
