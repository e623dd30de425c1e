package xapitest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is a request that is being answered.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
}

// fieldsOf has the allowed values of each parameter for fields and expansions, without private
// metrics.
var fieldsOf = map[string][]string{
	"post.fields": {"article", "article_title", "attachments", "card_uri", "community_id", "context_annotations", "conversation_id", "created_at",
		"display_text_range", "edit_controls", "entities", "geo", "id", "lang", "matched_media_notes", "media_metadata", "note_post", "note_request_suggestions",
		"paid_partnership", "possibly_sensitive", "public_metrics", "reply_settings", "scopes", "source", "suggested_source_links",
		"suggested_source_links_with_counts", "text", "withheld"},
	"user.fields": {"affiliation", "connection_status", "created_at", "description", "entities", "id", "is_identity_verified", "location", "name", "parody",
		"profile_banner_url", "profile_image_url", "protected", "public_metrics", "subscription_type", "url", "username", "verified",
		"verified_followers_count", "verified_type", "withheld"},
	"media.fields": {"alt_text", "duration_ms", "height", "media_key", "preview_image_url", "public_metrics", "type", "url", "variants", "width"},
	"poll.fields":  {"duration_minutes", "end_datetime", "id", "options", "voting_status"},
	"expansions": {"article.cover_media", "article.media_entities", "attachments.media_keys", "attachments.media_source_tweet", "attachments.poll_ids", "author_id",
		"edit_history_post_ids", "entities.mentions.username", "geo.place_id", "in_reply_to_user_id", "referenced_posts", "username"},
	"place.fields": {"contained_within", "country", "country_code", "full_name", "geo", "id", "name", "place_type"},
}

// refuses reports whether a request asks for unknown fields or expansions. If so, it answers
// the request with an error.
func (c *call) refuses() bool {
	for name, values := range c.query {
		if !strings.HasSuffix(name, ".fields") && name != "expansions" {
			continue
		}
		for _, v := range strings.Split(values[0], ",") {
			if !slices.Contains(fieldsOf[name], v) {
				c.invalid(name, values[0])
				return true
			}
		}
	}
	return false
}

// has reports whether the list in a parameter contains value.
func (c *call) has(parameter, value string) bool {
	list := c.query.Get(parameter)
	return list != "" && slices.Contains(strings.Split(list, ","), value)
}

// invalid answers that a parameter is not valid.
func (c *call) invalid(parameter string, values ...string) {
	Problem{Kind: "invalid-request", Status: http.StatusBadRequest, Title: "Invalid Request",
		Detail: "One or more parameters to your request was invalid.", Parameter: parameter, Values: values}.Write(c.w)
}

// number parses a parameter as a number from least to most. It returns otherwise if the parameter
// is not set. If the value is not allowed, number answers with an error and returns false.
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

// id parses a parameter as the id of a post. It returns 0 if the parameter is not set.
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

// time parses a parameter as a time in whole seconds. It returns the zero time if the parameter
// is not set.
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

// answer answers with an object of these members.
func (c *call) answer(members object) {
	writeJSON(c.w, http.StatusOK, members)
}

// charge bills a post, a user or an event.
func (c *call) charge(kind, id string) { c.s.bill.charge(c.s.cfg.Now(), kind, id) }
