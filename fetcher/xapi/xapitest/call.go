package xapitest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Generations of names.
const (
	namesTweet  = "tweet"
	namesPost   = "post"
	namesEither = "either"
)

// call is a request under way.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	names string // that the answer has: namesTweet or namesPost
}

// fieldsOf are the fields that an app may ask for, by parameter. Those of private
// metrics are left out.
var fieldsOf = map[string][]string{
	"tweet.fields": {"article", "attachments", "author_id", "card_uri", "community_id", "context_annotations", "conversation_id", "created_at",
		"display_text_range", "edit_controls", "edit_history_tweet_ids", "entities", "geo", "id", "in_reply_to_user_id", "lang", "media_metadata",
		"note_tweet", "possibly_sensitive", "public_metrics", "referenced_tweets", "reply_settings", "scopes", "source", "text", "withheld"},
	"post.fields": {"article", "article_title", "attachments", "card_uri", "community_id", "context_annotations", "conversation_id", "created_at",
		"display_text_range", "edit_controls", "entities", "geo", "id", "lang", "matched_media_notes", "media_metadata", "note_post", "note_request_suggestions",
		"paid_partnership", "possibly_sensitive", "public_metrics", "reply_settings", "scopes", "source", "suggested_source_links",
		"suggested_source_links_with_counts", "text", "withheld"},
	"user.fields": {"affiliation", "connection_status", "created_at", "description", "entities", "id", "is_identity_verified", "location", "name", "parody",
		"profile_banner_url", "profile_image_url", "protected", "public_metrics", "subscription_type", "url", "username", "verified",
		"verified_followers_count", "verified_type", "withheld"},
	"media.fields": {"alt_text", "duration_ms", "height", "media_key", "preview_image_url", "public_metrics", "type", "url", "variants", "width"},
	"poll.fields":  {"duration_minutes", "end_datetime", "id", "options", "voting_status"},
	"place.fields": {"contained_within", "country", "country_code", "full_name", "geo", "id", "name", "place_type"},
}

// expansionsOf are the expansions of posts, by generation.
var expansionsOf = map[string][]string{
	namesTweet: {"article.cover_media", "article.media_entities", "attachments.media_keys", "attachments.media_source_tweet", "attachments.poll_ids", "author_id",
		"edit_history_tweet_ids", "entities.mentions.username", "geo.place_id", "in_reply_to_user_id", "referenced_tweets.id", "referenced_tweets.id.author_id"},
	namesPost: {"article.cover_media", "article.media_entities", "attachments.media_keys", "attachments.media_source_tweet", "attachments.poll_ids", "author_id",
		"edit_history_post_ids", "entities.mentions.username", "geo.place_id", "in_reply_to_user_id", "referenced_posts", "username"},
}

// readNames finds out which names a request uses, and refuses those that the server does
// not take.
func (c *call) readNames() bool {
	c.names = c.s.cfg.Names
	if c.names == namesEither {
		c.names = namesTweet
		if c.query.Has("post.fields") || strings.Contains(c.query.Get("expansions"), "referenced_posts") {
			c.names = namesPost
		}
	}
	for name, values := range c.query {
		if !strings.HasSuffix(name, ".fields") && name != "expansions" {
			continue
		}
		allowed := fieldsOf[name]
		if name == "expansions" {
			allowed = expansionsOf[c.names]
		}
		if name == "tweet.fields" && c.names == namesPost || name == "post.fields" && c.names == namesTweet {
			allowed = nil
		}
		for _, v := range strings.Split(values[0], ",") {
			if !slices.Contains(allowed, v) {
				c.invalid(name, values[0])
				return false
			}
		}
	}
	return true
}

// has reports whether a request asks for something in a parameter.
func (c *call) has(parameter, value string) bool {
	list := c.query.Get(parameter)
	return list != "" && slices.Contains(strings.Split(list, ","), value)
}

// wants reports whether a request asks for a field of posts.
func (c *call) wants(field string) bool { return c.has(c.names+".fields", field) }

// name picks the name of a thing.
func (c *call) name(tweet, post string) string {
	if c.names == namesPost {
		return post
	}
	return tweet
}

// invalid refuses a parameter.
func (c *call) invalid(parameter string, values ...string) {
	Problem{Kind: "invalid-request", Status: http.StatusBadRequest, Title: "Invalid Request",
		Detail: "One or more parameters to your request was invalid.", Parameter: parameter, Values: values}.Write(c.w)
}

// number reads a count within bounds.
func (c *call) number(parameter string, least, most, otherwise int) (int, bool) {
	text := c.query.Get(parameter)
	if text == "" {
		return otherwise, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		c.invalid(parameter, text)
		return 0, false
	}
	return n, true
}

// id reads the id of a post, 0 for none.
func (c *call) id(parameter string) (uint64, bool) {
	text := c.query.Get(parameter)
	if text == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || len(text) > 19 {
		c.invalid(parameter, text)
		return 0, false
	}
	return n, true
}

// time reads a time in whole seconds, the zero time for none.
func (c *call) time(parameter string) (time.Time, bool) {
	text := c.query.Get(parameter)
	if text == "" {
		return time.Time{}, true
	}
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil || at.Before(time.Date(2010, 11, 6, 0, 0, 0, 0, time.UTC)) {
		c.invalid(parameter, text)
		return time.Time{}, false
	}
	return at, true
}

// answer writes members as the answer.
func (c *call) answer(members object) {
	writeJSON(c.w, http.StatusOK, members)
}

// charge bills a resource.
func (c *call) charge(kind, id string) { c.s.bill.charge(c.s.cfg.Now(), kind, id) }
