package query

import (
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// fieldAnswer evaluates the clauses that compare single fields of a Tweet. Clauses that only the
// platform can decide are unknown.
func fieldAnswer(op opID, a *argument, t *fetcher.Tweet) verdict {
	switch op {
	case opFrom:
		return is(strings.EqualFold(t.Username, a.text) || t.UserID == a.text || t.Platform != "" && strings.EqualFold(t.Platform+":"+t.Username, a.text))
	case opTo:
		return is(repliesTo(t, a.text))
	case opRetweetsOf:
		return is(retweets(t, a.text))
	case opConversation:
		return is(t.ConversationID == a.text)
	case opInReplyTo:
		return is(t.InReplyToStatusID == a.text)
	case opRetweetsOfTweet:
		return is(t.RetweetedStatusID == a.text)
	case opQuotesOfTweet:
		return is(t.QuotedStatusID == a.text)
	case opIsRetweet:
		return is(t.IsRetweet)
	case opIsReply:
		return is(t.IsReply())
	case opIsQuote:
		return is(t.IsQuoteStatus)
	case opNullcast:
		return no // posts for advertisements only are in no timeline and no search
	case opIncludeRetweets:
		return yes
	case opOldRetweets:
		return is(t.IsQuoteStatus || !t.IsRetweet && strings.HasPrefix(textOf(t), "RT @"))
	case opSelfThreads:
		return is(t.IsReply() && t.InReplyToUserID != "" && t.InReplyToUserID == t.UserID)
	case opHasMedia:
		return is(len(t.Media) > 0)
	case opHasImages, opTwimg:
		return is(hasMedia(t, "photo"))
	case opHasVideos:
		return is(hasMedia(t, "video"))
	case opConsumerVideo, opProVideo:
		if hasMedia(t, "video") {
			return unknown // a Tweet does not tell them apart
		}
		return no
	case opHasLang:
		return is(t.Lang != "" && t.Lang != "und")
	case opLang:
		return is(sameLanguage(a.unit, t.Lang) || t.Lang == "" && a.unit == "und")
	case opSafe:
		return is(!t.PossiblySensitive)
	case opEngagement:
		return is(!t.IsRetweet && t.FavoriteCount+t.ReplyCount+t.RetweetCount+t.QuoteCount > 0)
	case opMinLikes:
		return atLeast(t, t.FavoriteCount, a.lo)
	case opMinReplies:
		return atLeast(t, t.ReplyCount, a.lo)
	case opMinReposts:
		return atLeast(t, t.RetweetCount, a.lo)
	case opSample:
		return is(sampled(t.ID, a.lo))
	case opSinceID:
		return compareIDs(t.ID, a.text, func(order int) bool { return order > 0 })
	case opMaxID:
		return compareIDs(t.ID, a.text, func(order int) bool { return order <= 0 })
	}
	return userAnswer(op, a, t.User)
}

func textOf(t *fetcher.Tweet) string {
	if t.FullText != "" {
		return t.FullText
	}
	return t.Text
}

// atLeast compares a count. The count of a native retweet is 0, because its record has the counts
// of the original post.
func atLeast(t *fetcher.Tweet, count, least int64) verdict {
	if t.IsRetweet {
		count = 0
	}
	return is(count >= least)
}

// userAnswer evaluates the clauses about the author. u is the author's profile, or nil if the
// post does not have it.
func userAnswer(op opID, a *argument, u *fetcher.User) verdict {
	if u == nil {
		return unknown
	}
	between := func(n int64) verdict { return is(n >= a.lo && (a.hi < 0 || n <= a.hi)) }
	known := func(b *bool) verdict {
		if b == nil {
			return unknown
		}
		return is(*b)
	}
	switch op {
	case opMinFollowers:
		return is(u.FollowersCount >= a.lo)
	case opFollowers:
		return between(u.FollowersCount)
	case opFollowing:
		return between(u.FollowingCount)
	case opTweets:
		return between(u.TweetCount)
	case opListed:
		return between(u.ListedCount)
	case opVerified:
		return is(u.Verified)
	case opBlueVerified:
		return known(u.IsBlueVerified)
	case opFollows:
		return known(u.Following)
	}
	return unknown
}

// repliesTo reports whether t replies to a post of who, a handle or an id. A Tweet has only the
// id of the account it replies to. repliesTo takes the handle from the author if the id is the
// author's own, otherwise from the mention with this id, otherwise from the beginning of the
// text.
func repliesTo(t *fetcher.Tweet, who string) bool {
	if t.InReplyToUserID == "" && t.InReplyToStatusID == "" {
		return false
	}
	if t.InReplyToUserID != "" {
		if t.InReplyToUserID == who {
			return true
		}
		if t.InReplyToUserID == t.UserID {
			return strings.EqualFold(t.Username, who)
		}
		for i := range t.UserMentions {
			if t.UserMentions[i].ID == t.InReplyToUserID {
				return strings.EqualFold(t.UserMentions[i].Username, who)
			}
		}
	}
	return leadingName(textOf(t), "@", who)
}

// retweets reports whether t is a native retweet of who. A Tweet does not name the author of the
// original post, but the text of a retweet begins with "RT @name:".
func retweets(t *fetcher.Tweet, who string) bool {
	if !t.IsRetweet {
		return false
	}
	if leadingName(textOf(t), "RT @", who) {
		return true
	}
	for i := range t.UserMentions {
		m := &t.UserMentions[i]
		if m.ID == who && leadingName(textOf(t), "RT @", m.Username) {
			return true
		}
	}
	return false
}

func leadingName(text, prefix, who string) bool {
	if len(text) < len(prefix)+len(who) || text[:len(prefix)] != prefix || !strings.EqualFold(text[len(prefix):len(prefix)+len(who)], who) {
		return false
	}
	rest := text[len(prefix)+len(who):]
	return rest == "" || !isAlnum(rest[0]) && rest[0] != '_'
}

// hasMedia reports whether a post has media of a type. Media without a type count as a video if
// they have a duration, otherwise as a photo.
func hasMedia(t *fetcher.Tweet, kind string) bool {
	for i := range t.Media {
		m := &t.Media[i]
		is := m.Type
		if is == "" {
			is = "photo"
			if m.DurationMS > 0 {
				is = "video"
			}
		}
		if is == kind {
			return true
		}
	}
	return false
}

// sampled reports whether a post is in a sample of the given percentage of posts. It uses a hash
// of the id, so every process selects the same posts.
func sampled(id string, percent int64) bool {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 33 // the low bits of FNV are uneven for numeric ids
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h%100 < uint64(percent)
}

// compareIDs compares two numeric ids of any length. It calls ok with the result, which has the
// sign of cmp.Compare's.
func compareIDs(a, b string, ok func(order int) bool) verdict {
	if !isDigits(a) || !isDigits(b) {
		return unknown
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return is(ok(len(a) - len(b)))
	}
	return is(ok(strings.Compare(a, b)))
}
