package xapi

import (
	"net/url"
	"slices"
	"strings"
)

// names has the names of fields and parameters. X renamed most of them in August 2026, but X's
// streams still use the old names.
type names struct {
	fields    string   // the parameter that lists the fields of a post
	post      []string // the value of that parameter
	reference string   // the expansion for the posts that a post refers to
}

var (
	restNames = names{"post.fields", []string{"attachments", "card_uri", "conversation_id", "created_at", "edit_controls", "entities", "geo", "lang", "note_post",
		"possibly_sensitive", "public_metrics", "source"}, "referenced_posts"}
	streamNames = names{"tweet.fields", []string{"attachments", "author_id", "card_uri", "conversation_id", "created_at", "edit_controls", "edit_history_tweet_ids",
		"entities", "geo", "in_reply_to_user_id", "lang", "note_tweet", "possibly_sensitive", "public_metrics", "referenced_tweets", "source"},
		"referenced_tweets.id"}
	userFields = []string{"created_at", "description", "location", "profile_banner_url", "profile_image_url", "protected", "public_metrics", "url", "verified", "verified_type"}
)

// query returns the parameters of a request that select the fields of a post and the records in
// e.
func (n *names) query(e Expand) url.Values {
	q := url.Values{}
	set := func(name string, values ...string) {
		q.Set(name, strings.Join(values, ","))
	}
	set(n.fields, n.post...)
	var expansions []string
	if e.Authors {
		expansions = append(expansions, "author_id")
		set("user.fields", userFields...)
	}
	if e.Posts {
		expansions = append(expansions, n.reference)
	}
	if e.Media {
		expansions = append(expansions, "attachments.media_keys")
		set("media.fields", "alt_text", "duration_ms", "height", "preview_image_url", "public_metrics", "type", "url", "variants", "width")
	}
	if e.Polls {
		expansions = append(expansions, "attachments.poll_ids")
		set("poll.fields", "duration_minutes", "end_datetime", "options", "voting_status")
	}
	if e.Places {
		expansions = append(expansions, "geo.place_id")
		set("place.fields", "country", "country_code", "full_name", "name", "place_type")
	}
	if expansions != nil {
		slices.Sort(expansions)
		set("expansions", expansions...)
	}
	return q
}
