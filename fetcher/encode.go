package fetcher

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the post as its wire-format JSON object to b and returns
// the extended slice. The bytes depend on the record alone.
func (t *Tweet) AppendJSON(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("id", t.ID)
	e.str("text", t.Text)
	e.str("full_text", t.FullText)
	e.str("created_at", t.CreatedAt)
	e.str("lang", t.Lang)
	e.str("user_id", t.UserID)
	e.str("username", t.Username)
	e.str("user_name", t.UserName)
	e.int("favorite_count", t.FavoriteCount)
	e.int("retweet_count", t.RetweetCount)
	e.int("reply_count", t.ReplyCount)
	e.int("quote_count", t.QuoteCount)
	e.int("view_count", t.ViewCount)
	e.int("bookmark_count", t.BookmarkCount)
	e.bool("favorited", t.Favorited)
	e.bool("retweeted", t.Retweeted)
	e.bool("bookmarked", t.Bookmarked)
	e.bool("possibly_sensitive", t.PossiblySensitive)
	e.bool("is_quote_status", t.IsQuoteStatus)
	e.bool("is_retweet", t.IsRetweet)
	e.str("conversation_id", t.ConversationID)
	e.str("in_reply_to_status_id", t.InReplyToStatusID)
	e.str("in_reply_to_user_id", t.InReplyToUserID)
	e.str("quoted_status_id", t.QuotedStatusID)
	e.str("retweeted_status_id", t.RetweetedStatusID)
	list(&e, "media", t.Media, (*Media).append)
	list(&e, "urls", t.URLs, (*URL).append)
	list(&e, "hashtags", t.Hashtags, (*Hashtag).append)
	list(&e, "user_mentions", t.UserMentions, (*Mention).append)
	if t.Poll != nil {
		e.key("poll")
		e.b = t.Poll.append(e.b)
	}
	if t.Place != nil {
		e.key("place")
		e.b = t.Place.append(e.b)
	}
	list(&e, "edit_tweet_ids", t.EditTweetIDs, appendStringItem)
	e.int("editable_until_msecs", t.EditableUntilMsecs)
	e.int("edits_remaining", t.EditsRemaining)
	e.bool("is_edit_eligible", t.IsEditEligible)
	e.bool("has_card", t.HasCard)
	e.str("thumbnail_url", t.ThumbnailURL)
	e.str("thumbnail_title", t.ThumbnailTitle)
	e.bool("has_community_notes", t.HasCommunityNotes)
	e.str("source", t.Source)
	if t.User != nil {
		e.key("user")
		e.b = t.User.AppendJSON(e.b)
	}
	return append(e.b, '}')
}

// MarshalJSON is AppendJSON for encoding/json.
func (t Tweet) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends the account as its wire-format JSON object to b.
func (u *User) AppendJSON(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("id", u.ID)
	e.str("username", u.Username)
	e.str("name", u.Name)
	e.str("created_at", u.CreatedAt)
	e.strOrNull("description", u.Description)
	e.strOrNull("location", u.Location)
	e.strOrNull("url", u.URL)
	e.strOrNull("profile_image_url", u.ProfileImageURL)
	e.strOrNull("profile_banner_url", u.ProfileBannerURL)
	e.int("followers_count", u.FollowersCount)
	e.int("following_count", u.FollowingCount)
	e.int("tweet_count", u.TweetCount)
	e.int("listed_count", u.ListedCount)
	e.intOrNull("favourites_count", u.FavouritesCount)
	e.intOrNull("media_count", u.MediaCount)
	e.bool("verified", u.Verified)
	e.strOrNull("verified_type", u.VerifiedType)
	e.boolOrNull("is_blue_verified", u.IsBlueVerified)
	e.strOrNull("created_at_datetime", u.CreatedAtDatetime)
	e.boolOrNull("protected", u.Protected)
	e.boolOrNull("possibly_sensitive", u.PossiblySensitive)
	e.boolOrNull("followed_by", u.FollowedBy)
	e.boolOrNull("following", u.Following)
	e.boolOrNull("can_dm", u.CanDM)
	e.strOrNull("professional_type", u.ProfessionalType)
	if u.PinnedTweetIDs == nil {
		e.null("pinned_tweet_ids")
	} else {
		list(&e, "pinned_tweet_ids", u.PinnedTweetIDs, appendStringItem)
	}
	return append(e.b, '}')
}

func (m *Media) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("media_key", m.MediaKey)
	e.str("type", m.Type)
	e.str("url", m.URL)
	e.str("preview_image_url", m.PreviewImageURL)
	e.int("width", m.Width)
	e.int("height", m.Height)
	e.int("duration_ms", m.DurationMS)
	e.int("view_count", m.ViewCount)
	e.str("alt_text", m.AltText)
	return append(e.b, '}')
}

func (u *URL) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("url", u.URL)
	e.str("expanded_url", u.ExpandedURL)
	e.str("display_url", u.DisplayURL)
	e.str("unwound_url", u.UnwoundURL)
	return append(e.b, '}')
}

func (h *Hashtag) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("text", h.Text)
	list(&e, "indices", h.Indices, appendIntItem)
	return append(e.b, '}')
}

func (m *Mention) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("id", m.ID)
	e.str("username", m.Username)
	e.str("name", m.Name)
	list(&e, "indices", m.Indices, appendIntItem)
	return append(e.b, '}')
}

func (p *Poll) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("id", p.ID)
	e.str("end_datetime", p.EndDatetime)
	e.int("duration_minutes", p.DurationMinutes)
	list(&e, "options", p.Options, (*PollOption).append)
	return append(e.b, '}')
}

func (o *PollOption) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.int("position", o.Position)
	e.str("label", o.Label)
	e.int("votes", o.Votes)
	return append(e.b, '}')
}

func (p *Place) append(b []byte) []byte {
	e := object{b: append(b, '{')}
	e.str("id", p.ID)
	e.str("full_name", p.FullName)
	e.str("name", p.Name)
	e.str("country", p.Country)
	e.str("country_code", p.CountryCode)
	return append(e.b, '}')
}

func appendStringItem(s *string, b []byte) []byte { return AppendString(b, *s) }
func appendIntItem(n *int, b []byte) []byte       { return strconv.AppendInt(b, int64(*n), 10) }

// object appends members to a JSON object that is being written.
type object struct {
	b     []byte
	begun bool
}

func (e *object) key(name string) {
	if e.begun {
		e.b = append(e.b, ',')
	}
	e.begun = true
	e.b = append(e.b, '"')
	e.b = append(e.b, name...)
	e.b = append(e.b, '"', ':')
}

func (e *object) str(name, v string) {
	e.key(name)
	e.b = AppendString(e.b, v)
}

func (e *object) int(name string, v int64) {
	e.key(name)
	e.b = strconv.AppendInt(e.b, v, 10)
}

func (e *object) bool(name string, v bool) {
	e.key(name)
	e.b = strconv.AppendBool(e.b, v)
}

func (e *object) null(name string) {
	e.key(name)
	e.b = append(e.b, "null"...)
}

func (e *object) strOrNull(name string, v *string) {
	if v == nil {
		e.null(name)
		return
	}
	e.str(name, *v)
}

func (e *object) intOrNull(name string, v *int64) {
	if v == nil {
		e.null(name)
		return
	}
	e.int(name, *v)
}

func (e *object) boolOrNull(name string, v *bool) {
	if v == nil {
		e.null(name)
		return
	}
	e.bool(name, *v)
}

func list[T any](e *object, name string, items []T, item func(*T, []byte) []byte) {
	e.key(name)
	e.b = append(e.b, '[')
	for i := range items {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = item(&items[i], e.b)
	}
	e.b = append(e.b, ']')
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD;
// control characters and U+2028, U+2029 are escaped; '<', '>' and '&' are not.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			b = append(b, s[start:i]...)
			b = append(b, `\u202`...)
			b = append(b, hexDigits[r&15])
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
