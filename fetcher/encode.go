package fetcher

import (
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the post to b as a JSON object in the wire format, and returns the
// extended slice. Equal records give equal bytes.
func (t *Tweet) AppendJSON(b []byte) []byte {
	b = strMember(b, `{"id":`, t.ID)
	b = strMember(b, `,"text":`, t.Text)
	b = strMember(b, `,"full_text":`, t.FullText)
	b = strMember(b, `,"created_at":`, t.CreatedAt)
	b = strMember(b, `,"lang":`, t.Lang)
	b = strMember(b, `,"user_id":`, t.UserID)
	b = strMember(b, `,"username":`, t.Username)
	b = strMember(b, `,"user_name":`, t.UserName)
	b = intMember(b, `,"favorite_count":`, t.FavoriteCount)
	b = intMember(b, `,"retweet_count":`, t.RetweetCount)
	b = intMember(b, `,"reply_count":`, t.ReplyCount)
	b = intMember(b, `,"quote_count":`, t.QuoteCount)
	b = intMember(b, `,"view_count":`, t.ViewCount)
	b = intMember(b, `,"bookmark_count":`, t.BookmarkCount)
	b = boolMember(b, `,"favorited":`, t.Favorited)
	b = boolMember(b, `,"retweeted":`, t.Retweeted)
	b = boolMember(b, `,"bookmarked":`, t.Bookmarked)
	b = boolMember(b, `,"possibly_sensitive":`, t.PossiblySensitive)
	b = boolMember(b, `,"is_quote_status":`, t.IsQuoteStatus)
	b = boolMember(b, `,"is_retweet":`, t.IsRetweet)
	b = strMember(b, `,"conversation_id":`, t.ConversationID)
	b = strMember(b, `,"in_reply_to_status_id":`, t.InReplyToStatusID)
	b = strMember(b, `,"in_reply_to_user_id":`, t.InReplyToUserID)
	b = strMember(b, `,"quoted_status_id":`, t.QuotedStatusID)
	b = strMember(b, `,"retweeted_status_id":`, t.RetweetedStatusID)
	b = listMember(b, `,"media":`, t.Media, (*Media).append)
	b = listMember(b, `,"urls":`, t.URLs, (*URL).append)
	b = listMember(b, `,"hashtags":`, t.Hashtags, (*Hashtag).append)
	b = listMember(b, `,"user_mentions":`, t.UserMentions, (*Mention).append)
	if t.Poll != nil {
		b = append(b, `,"poll":`...)
		b = t.Poll.append(b)
	}
	if t.Place != nil {
		b = append(b, `,"place":`...)
		b = t.Place.append(b)
	}
	b = listMember(b, `,"edit_tweet_ids":`, t.EditTweetIDs, appendStringItem)
	b = intMember(b, `,"editable_until_msecs":`, t.EditableUntilMsecs)
	b = intMember(b, `,"edits_remaining":`, t.EditsRemaining)
	b = boolMember(b, `,"is_edit_eligible":`, t.IsEditEligible)
	b = boolMember(b, `,"has_card":`, t.HasCard)
	b = strMember(b, `,"thumbnail_url":`, t.ThumbnailURL)
	b = strMember(b, `,"thumbnail_title":`, t.ThumbnailTitle)
	b = boolMember(b, `,"has_community_notes":`, t.HasCommunityNotes)
	b = strMember(b, `,"source":`, t.Source)
	if t.Visibility != "" {
		b = strMember(b, `,"visibility":`, t.Visibility)
	}
	if t.User != nil {
		b = append(b, `,"user":`...)
		b = t.User.AppendJSON(b)
	}
	if t.Entry != nil {
		b = append(b, `,"entry":`...)
		b = t.Entry.append(b)
	}
	return append(b, '}')
}

// MarshalJSON returns the JSON of AppendJSON.
func (t Tweet) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// AppendJSON appends the account to b as a JSON object in the wire format.
func (u *User) AppendJSON(b []byte) []byte {
	b = strMember(b, `{"id":`, u.ID)
	b = strMember(b, `,"username":`, u.Username)
	b = strMember(b, `,"name":`, u.Name)
	b = strMember(b, `,"created_at":`, u.CreatedAt)
	b = strOrNullMember(b, `,"description":`, u.Description)
	b = strOrNullMember(b, `,"location":`, u.Location)
	b = strOrNullMember(b, `,"url":`, u.URL)
	b = strOrNullMember(b, `,"profile_image_url":`, u.ProfileImageURL)
	b = strOrNullMember(b, `,"profile_banner_url":`, u.ProfileBannerURL)
	b = intMember(b, `,"followers_count":`, u.FollowersCount)
	b = intMember(b, `,"following_count":`, u.FollowingCount)
	b = intMember(b, `,"tweet_count":`, u.TweetCount)
	b = intMember(b, `,"listed_count":`, u.ListedCount)
	b = intOrNullMember(b, `,"favourites_count":`, u.FavouritesCount)
	b = intOrNullMember(b, `,"media_count":`, u.MediaCount)
	b = boolMember(b, `,"verified":`, u.Verified)
	b = strOrNullMember(b, `,"verified_type":`, u.VerifiedType)
	b = boolOrNullMember(b, `,"is_blue_verified":`, u.IsBlueVerified)
	b = strOrNullMember(b, `,"created_at_datetime":`, u.CreatedAtDatetime)
	b = boolOrNullMember(b, `,"protected":`, u.Protected)
	b = boolOrNullMember(b, `,"possibly_sensitive":`, u.PossiblySensitive)
	b = boolOrNullMember(b, `,"followed_by":`, u.FollowedBy)
	b = boolOrNullMember(b, `,"following":`, u.Following)
	b = boolOrNullMember(b, `,"can_dm":`, u.CanDM)
	b = strOrNullMember(b, `,"professional_type":`, u.ProfessionalType)
	if u.PinnedTweetIDs == nil {
		b = append(b, `,"pinned_tweet_ids":null`...)
	} else {
		b = listMember(b, `,"pinned_tweet_ids":`, u.PinnedTweetIDs, appendStringItem)
	}
	return append(b, '}')
}

func (m *Media) append(b []byte) []byte {
	b = strMember(b, `{"media_key":`, m.MediaKey)
	b = strMember(b, `,"type":`, m.Type)
	b = strMember(b, `,"url":`, m.URL)
	b = strMember(b, `,"preview_image_url":`, m.PreviewImageURL)
	b = intMember(b, `,"width":`, m.Width)
	b = intMember(b, `,"height":`, m.Height)
	b = intMember(b, `,"duration_ms":`, m.DurationMS)
	b = intMember(b, `,"view_count":`, m.ViewCount)
	b = strMember(b, `,"alt_text":`, m.AltText)
	return append(b, '}')
}

func (u *URL) append(b []byte) []byte {
	b = strMember(b, `{"url":`, u.URL)
	b = strMember(b, `,"expanded_url":`, u.ExpandedURL)
	b = strMember(b, `,"display_url":`, u.DisplayURL)
	b = strMember(b, `,"unwound_url":`, u.UnwoundURL)
	return append(b, '}')
}

func (h *Hashtag) append(b []byte) []byte {
	b = strMember(b, `{"text":`, h.Text)
	b = listMember(b, `,"indices":`, h.Indices, appendIntItem)
	return append(b, '}')
}

func (m *Mention) append(b []byte) []byte {
	b = strMember(b, `{"id":`, m.ID)
	b = strMember(b, `,"username":`, m.Username)
	b = strMember(b, `,"name":`, m.Name)
	b = listMember(b, `,"indices":`, m.Indices, appendIntItem)
	return append(b, '}')
}

func (p *Poll) append(b []byte) []byte {
	b = strMember(b, `{"id":`, p.ID)
	b = strMember(b, `,"end_datetime":`, p.EndDatetime)
	b = intMember(b, `,"duration_minutes":`, p.DurationMinutes)
	b = listMember(b, `,"options":`, p.Options, (*PollOption).append)
	return append(b, '}')
}

func (o *PollOption) append(b []byte) []byte {
	b = intMember(b, `{"position":`, o.Position)
	b = strMember(b, `,"label":`, o.Label)
	b = intMember(b, `,"votes":`, o.Votes)
	return append(b, '}')
}

func (p *Place) append(b []byte) []byte {
	b = strMember(b, `{"id":`, p.ID)
	b = strMember(b, `,"full_name":`, p.FullName)
	b = strMember(b, `,"name":`, p.Name)
	b = strMember(b, `,"country":`, p.Country)
	b = strMember(b, `,"country_code":`, p.CountryCode)
	return append(b, '}')
}

func appendStringItem(s *string, b []byte) []byte { return AppendString(b, *s) }
func appendIntItem(n *int, b []byte) []byte       { return strconv.AppendInt(b, int64(*n), 10) }

// The functions below append one member of an object. The argument key includes the
// punctuation, such as `,"id":`, and v is the value.

func strMember(b []byte, key, v string) []byte {
	return AppendString(append(b, key...), v)
}

func intMember(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}

func boolMember(b []byte, key string, v bool) []byte {
	return strconv.AppendBool(append(b, key...), v)
}

func strOrNullMember(b []byte, key string, v *string) []byte {
	if v == nil {
		return append(append(b, key...), "null"...)
	}
	return strMember(b, key, *v)
}

func intOrNullMember(b []byte, key string, v *int64) []byte {
	if v == nil {
		return append(append(b, key...), "null"...)
	}
	return intMember(b, key, *v)
}

func boolOrNullMember(b []byte, key string, v *bool) []byte {
	if v == nil {
		return append(append(b, key...), "null"...)
	}
	return boolMember(b, key, *v)
}

func listMember[T any](b []byte, key string, items []T, item func(*T, []byte) []byte) []byte {
	b = append(append(b, key...), '[')
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(&items[i], b)
	}
	return append(b, ']')
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD;
// control characters and U+2028, U+2029 are escaped; '<', '>' and '&' are not.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start, again := 0, 0 // again is the index from which plain8 is tried
	for i := 0; i < len(s); {
		if i >= again && i+8 <= len(s) {
			if plain8(s[i : i+8]) {
				i += 8
				continue
			}
			again = i + 8
		}
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

// plain8 reports whether eight bytes are ASCII that needs no escape. It tests all eight as one
// 64-bit word: subtracting 1 from each byte sets the top bit of a byte that is zero.
func plain8(s string) bool {
	_ = s[7]
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return (x|(x-ones*' ')|(quote-ones)&^quote|(slash-ones)&^slash)&tops == 0
}
