package xapi

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
)

// tweet converts a post to a Tweet published at the time at. Fields that X does not send stay
// empty. If at is zero, the engine drops and counts the post.
func (p *post) tweet(at time.Time, in *includes) fetcher.Tweet {
	refs := longer(p.ReferencedPosts, p.ReferencedTweets)
	retweeted, quoted, repliedTo := refer(refs, "retweeted"), refer(refs, "quoted"), refer(refs, "replied_to")
	t := fetcher.Tweet{
		ID:                p.ID,
		Text:              unescape(p.Text),
		FullText:          unescape(p.fullText()),
		Lang:              p.Lang,
		Source:            unescape(p.Source),
		UserID:            p.AuthorID,
		FavoriteCount:     p.Metrics.Likes,
		RetweetCount:      cmp.Or(p.Metrics.Reposts, p.Metrics.Retweets),
		ReplyCount:        p.Metrics.Replies,
		QuoteCount:        p.Metrics.Quotes,
		ViewCount:         p.Metrics.Views,
		BookmarkCount:     p.Metrics.Bookmarks,
		PossiblySensitive: p.Sensitive,
		IsQuoteStatus:     quoted != "",
		IsRetweet:         retweeted != "",
		ConversationID:    p.ConversationID,
		InReplyToStatusID: repliedTo,
		InReplyToUserID:   p.InReplyToUserID,
		QuotedStatusID:    quoted,
		RetweetedStatusID: retweeted,
		EditsRemaining:    p.EditControls.Remaining,
		IsEditEligible:    p.EditControls.Eligible,
		EditTweetIDs:      longer(p.EditHistory, p.EditHistoryTweets),
		HasCard:           p.CardURI != "",
		PublishedAt:       at,
	}
	if !at.IsZero() {
		t.CreatedAt = fetcher.FormatTime(at)
	}
	if until, err := fetcher.ParseTime(p.EditControls.Until); err == nil {
		t.EditableUntilMsecs = until.UnixMilli()
	}
	if u := in.user(p.AuthorID); u != nil {
		t.Username, t.UserName, t.User = u.Username, unescape(u.Name), u.record()
	}
	if t.Username == "" && t.ID != "" {
		t.Permalink = "https://x.com/i/status/" + t.ID // works without the author's name
	}
	shown := p // the post to take the contents from
	if retweeted != "" {
		if original := in.post(retweeted); original != nil {
			shown = original
			t.FullText = unescape(repostText(p.Text, original.fullText()))
		}
	}
	shown.attach(&t, in)
	p.marks(&t, shown, in)
	return t
}

// publishedAt returns the time in the id, to the millisecond, or created_at if the id has none.
func (p *post) publishedAt() time.Time {
	at, ok := fetcher.SnowflakeTime(p.ID)
	if !ok {
		at, _ = fetcher.ParseTime(p.CreatedAt)
	}
	return at.UTC()
}

func (p *post) note() *note {
	if p.NotePost != nil {
		return p.NotePost
	}
	return p.NoteTweet
}

func (p *post) fullText() string {
	if n := p.note(); n != nil && n.Text != "" {
		return n.Text
	}
	return p.Text
}

// repostText returns a repost's whole text. It takes "RT @handle: " from cut, the repost's own
// shortened text, and the rest from full, the original's text.
func repostText(cut, full string) string {
	if head, _, ok := strings.Cut(cut, ": "); ok && strings.HasPrefix(head, "RT @") {
		return head + ": " + full
	}
	return full
}

func refer(refs []ref, kind string) string {
	for _, r := range refs {
		if r.Type == kind {
			return r.ID
		}
	}
	return ""
}

// attach sets the attachments of a post: media, a poll and a place.
func (p *post) attach(t *fetcher.Tweet, in *includes) {
	for _, key := range p.Attachments.MediaKeys {
		for i := range in.Media {
			if m := &in.Media[i]; m.Key == key && key != "" {
				t.Media = append(t.Media, m.record())
				break
			}
		}
	}
	for _, id := range p.Attachments.PollIDs {
		for i := range in.Polls {
			if in.Polls[i].ID == id && id != "" && t.Poll == nil {
				t.Poll = in.Polls[i].record()
			}
		}
	}
	for i := range in.Places {
		if pl := &in.Places[i]; pl.ID == p.Geo.PlaceID && pl.ID != "" && t.Place == nil {
			t.Place = &fetcher.Place{ID: pl.ID, FullName: unescape(pl.FullName), Name: unescape(pl.Name), Country: unescape(pl.Country), CountryCode: pl.CountryCode}
		}
	}
}

// marks sets links, tags and mentions. For a repost it uses those of the original post, because
// a repost's own end where its text is cut.
func (p *post) marks(t *fetcher.Tweet, shown *post, in *includes) {
	shift := 0
	if shown != p {
		shift = utf8.RuneCountInString(t.FullText) - utf8.RuneCountInString(unescape(shown.fullText()))
	}
	own, long := shown.Entities, entities{}
	if n := shown.note(); n != nil {
		long = n.Entities
	}
	for _, l := range longer(long.URLs, own.URLs) {
		t.URLs = append(t.URLs, fetcher.URL{URL: l.URL, ExpandedURL: l.ExpandedURL, DisplayURL: l.DisplayURL, UnwoundURL: l.UnwoundURL})
	}
	// The offsets are in the text of which the entities are.
	text := func(long int) spans {
		if long > 0 {
			return newSpans(shown.note().Text, shift)
		}
		return newSpans(shown.Text, shift)
	}
	at := text(len(long.Hashtags))
	for _, h := range longer(long.Hashtags, own.Hashtags) {
		t.Hashtags = append(t.Hashtags, fetcher.Hashtag{Text: h.Tag, Indices: at.of(h.Start, h.End)})
	}
	at = text(len(long.Mentions))
	for _, m := range longer(long.Mentions, own.Mentions) {
		out := fetcher.Mention{ID: m.ID, Username: m.Username, Indices: at.of(m.Start, m.End)}
		if u := in.user(m.ID); u != nil {
			out.Name = unescape(u.Name)
		}
		t.UserMentions = append(t.UserMentions, out)
	}
}

func (m *media) record() fetcher.Media {
	r := fetcher.Media{MediaKey: m.Key, Type: m.Type, URL: m.URL, PreviewImageURL: m.Preview,
		Width: m.Width, Height: m.Height, DurationMS: m.Duration, ViewCount: m.Metrics.Views, AltText: unescape(m.AltText)}
	if r.URL != "" {
		return r
	}
	best := int64(-1)
	for _, v := range m.Variants {
		if strings.HasPrefix(v.ContentType, "video/") && v.URL != "" && v.BitRate > best {
			r.URL, best = v.URL, v.BitRate
		}
	}
	return r
}

func (p *poll) record() *fetcher.Poll {
	r := &fetcher.Poll{ID: p.ID, EndDatetime: p.End, DurationMinutes: p.Duration}
	for _, o := range p.Options {
		r.Options = append(r.Options, fetcher.PollOption{Position: o.Position, Label: unescape(o.Label), Votes: o.Votes})
	}
	return r
}

// longer returns a or, if a is empty, b. The callers pass the same field under its new and its
// old name.
func longer[T any](a, b []T) []T {
	if len(a) > 0 {
		return a
	}
	return b
}
