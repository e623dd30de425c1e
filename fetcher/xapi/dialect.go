package xapi

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// dialects remembers which names each endpoint takes. It is safe for concurrent use.
type dialects struct {
	fixed Names // NamesAuto: find out

	mu    sync.Mutex
	takes map[string]Names // by endpoint
}

// of returns the names to send to an endpoint.
func (d *dialects) of(endpoint string) Names {
	if d.fixed != NamesAuto {
		return d.fixed
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := d.takes[endpoint]; ok {
		return n
	}
	return NamesTweet
}

// settle remembers what an endpoint takes.
func (d *dialects) settle(endpoint string, n Names) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.takes == nil {
		d.takes = map[string]Names{}
	}
	d.takes[endpoint] = n
}

// try makes a call to an endpoint, and once more in the other names if it refuses these.
func (d *dialects) try(endpoint string, call func(Names) error) error {
	names := d.of(endpoint)
	err := call(names)
	var bad *invalidRequest
	if d.fixed != NamesAuto || !errors.As(err, &bad) || !bad.problem.names(dialectParameter) {
		return err
	}
	other := NamesTweet
	if names == NamesTweet {
		other = NamesPost
	}
	if errAgain := call(other); errAgain != nil {
		return errors.Join(err, errAgain)
	}
	d.settle(endpoint, other)
	return nil
}

// dialectParameter reports whether a parameter, or its values, differ between the
// generations of names.
func dialectParameter(name string) bool {
	return strings.HasSuffix(name, ".fields") || name == "expansions"
}

// Fields that are asked for of a post, by generation. Those that are expansions today
// are not among them.
var (
	fieldsTweet = []string{"attachments", "author_id", "card_uri", "conversation_id", "created_at", "edit_controls", "edit_history_tweet_ids",
		"entities", "geo", "in_reply_to_user_id", "lang", "note_tweet", "possibly_sensitive", "public_metrics", "referenced_tweets", "source"}
	fieldsPost = []string{"attachments", "card_uri", "conversation_id", "created_at", "edit_controls", "entities", "geo", "lang", "note_post",
		"possibly_sensitive", "public_metrics", "source"}
)

// postQuery sets the parameters that say what is told of a post.
func postQuery(n Names, e Expand) url.Values {
	q := url.Values{}
	set := func(name string, values ...string) {
		if len(values) > 0 {
			q.Set(name, strings.Join(values, ","))
		}
	}
	fields, referenced := fieldsTweet, "referenced_tweets.id"
	if n == NamesPost {
		fields, referenced = fieldsPost, "referenced_posts"
		set("post.fields", fields...)
	} else {
		set("tweet.fields", fields...)
	}
	var expansions []string
	if e.Authors {
		expansions = append(expansions, "author_id")
		if e.Posts && n == NamesTweet {
			expansions = append(expansions, "referenced_tweets.id.author_id")
		}
		set("user.fields", userFields(n)...)
	}
	if e.Posts {
		expansions = append(expansions, referenced)
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
	slices.Sort(expansions)
	set("expansions", expansions...)
	return q
}

// userFields are what is asked for of an account. The post that is pinned is an
// expansion, and is not asked for.
func userFields(Names) []string {
	return []string{"created_at", "description", "location", "profile_banner_url", "profile_image_url", "protected", "public_metrics", "url", "verified", "verified_type"}
}
