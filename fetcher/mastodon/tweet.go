package mastodon

import (
	"math"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/htmltext"
)

// tweet converts a post to a Tweet. PublishedAt is zero if the post has no id or no valid time.
func (s *status) tweet() fetcher.Tweet {
	// A boost has its own id, author and time. All other fields are those of the boosted post.
	shown, boost := s, s.Reblog != nil && s.Reblog.ID != ""
	if boost {
		shown = s.Reblog
	}
	content := htmltext.Parse(shown.Content)
	text := content.Text
	if shown.SpoilerText != "" {
		text = strings.TrimSuffix(shown.SpoilerText+"\n\n"+text, "\n\n")
	}
	if boost {
		text = "RT @" + shown.author().Acct + ": " + text
	}
	author := s.author()
	t := fetcher.Tweet{
		ID:                string(s.ID),
		Text:              text,
		FullText:          text,
		Lang:              shown.Language,
		UserID:            string(author.ID),
		Username:          author.Acct,
		UserName:          author.DisplayName,
		FavoriteCount:     number(shown.FavouritesCount),
		RetweetCount:      number(shown.ReblogsCount),
		ReplyCount:        number(shown.RepliesCount),
		QuoteCount:        number(shown.QuotesCount),
		Favorited:         shown.Favourited,
		Retweeted:         shown.Reblogged,
		Bookmarked:        shown.Bookmarked,
		PossiblySensitive: shown.Sensitive,
		InReplyToStatusID: string(s.InReplyToID),
		InReplyToUserID:   string(s.InReplyToUserID),
		Media:             shown.media(),
		URLs:              shown.urls(content.Links),
		Poll:              shown.poll(),
		Visibility:        s.visibility(),
		Permalink:         shown.permalink(),
		User:              s.user(),
	}
	if boost {
		t.IsRetweet = true
		t.RetweetedStatusID = string(shown.ID)
	}
	t.QuotedStatusID, t.IsQuoteStatus = s.quoted()
	runes := []rune(text)
	t.Hashtags = shown.hashtags(runes)
	t.UserMentions = shown.userMentions(runes)
	if shown.Card != nil && shown.Card.URL != "" {
		t.HasCard = true
		t.ThumbnailURL = shown.Card.Image
		t.ThumbnailTitle = shown.Card.Title
	}
	if s.Pleroma != nil {
		t.ConversationID = string(s.Pleroma.ConversationID)
	}
	if shown.Application != nil {
		t.Source = shown.Application.Name
	}
	if at, ok := parseTime(s.CreatedAt); ok {
		t.CreatedAt = fetcher.FormatTime(at)
		if s.ID != "" {
			t.PublishedAt = at
		}
	}
	return t
}

// author returns the post's account. If its Acct is empty, author sets it to Username.
func (s *status) author() account {
	if s.Account == nil {
		return account{}
	}
	a := *s.Account
	if a.Acct == "" {
		a.Acct = a.Username
	}
	return a
}

func (s *status) user() *fetcher.User {
	a := s.author()
	if a.ID == "" {
		return nil
	}
	u := &fetcher.User{
		ID:               string(a.ID),
		Username:         a.Acct,
		Name:             a.DisplayName,
		Description:      optional(htmltext.Parse(a.Note).Text),
		URL:              optional(a.URL),
		ProfileImageURL:  optional(a.Avatar),
		ProfileBannerURL: optional(a.Header),
		FollowersCount:   number(a.FollowersCount),
		FollowingCount:   number(a.FollowingCount),
		TweetCount:       number(a.StatusesCount),
	}
	if at, ok := parseTime(a.CreatedAt); ok {
		u.CreatedAt = fetcher.FormatTime(at)
		u.CreatedAtDatetime = optional(at.Format(time.RFC3339))
	}
	return u
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// quoted returns the quoted post's id. It reports whether the post is a quote. If the server
// must not show the quoted post, the quote has a state but no id.
func (s *status) quoted() (string, bool) {
	var ids []ident
	state := ""
	if q := s.Quote; q != nil {
		if q.QuotedStatus != nil {
			ids = append(ids, q.QuotedStatus.ID)
		}
		ids = append(ids, q.QuotedID, q.ID)
		state = q.State
	}
	ids = append(ids, s.QuoteID)
	if s.Pleroma != nil {
		ids = append(ids, s.Pleroma.QuoteID)
	}
	for _, id := range ids {
		if id != "" {
			return string(id), true
		}
	}
	return "", state != ""
}

// permalink returns the address of the post's web page, or "" if there is none. For a boost,
// tweet calls permalink on the boosted post, because a boost's own address leads to JSON.
func (s *status) permalink() string {
	for _, u := range []string{s.URL, s.URI} {
		if isWeb(u) {
			return u
		}
	}
	return ""
}

// isWeb reports whether an address begins with http:// or https://. It excludes javascript: and
// the like.
func isWeb(u string) bool {
	return strings.HasPrefix(u, "https://") || strings.HasPrefix(u, "http://")
}

// mediaTypes maps the API's media types to those of fetcher.Media. Any other type becomes "".
var mediaTypes = map[string]string{
	"image": "photo",
	"gifv":  "animated_gif",
	"video": "video",
	"audio": "audio",
}

func (s *status) media() []fetcher.Media {
	var media []fetcher.Media
	for _, a := range s.Media {
		m := fetcher.Media{
			MediaKey:        string(a.ID),
			Type:            mediaTypes[a.Type],
			URL:             a.URL,
			PreviewImageURL: a.PreviewURL,
			Width:           number(a.Meta.Original.Width),
			Height:          number(a.Meta.Original.Height),
			DurationMS:      number(a.Meta.Original.Duration * 1000),
			AltText:         a.Description,
		}
		if m.URL == "" {
			m.URL = a.RemoteURL
		}
		if m.MediaKey == "" && m.URL == "" {
			continue
		}
		media = append(media, m)
	}
	return media
}

// urls returns the links in the text, except those to a mentioned account or a tag. It
// appends the card's link if the text does not have it.
func (s *status) urls(links []htmltext.Link) []fetcher.URL {
	known := make(map[string]bool)
	for _, m := range s.Mentions {
		known[m.URL] = true
	}
	for _, t := range s.Tags {
		known[t.URL] = true
	}
	var urls []fetcher.URL
	add := func(href, display string) {
		if !isWeb(href) || known[href] {
			return
		}
		known[href] = true
		urls = append(urls, fetcher.URL{URL: href, ExpandedURL: href, DisplayURL: display})
	}
	for _, l := range links {
		add(l.Href, l.Display)
	}
	if s.Card != nil {
		_, display, _ := strings.Cut(s.Card.URL, "://")
		add(s.Card.URL, display)
	}
	return urls
}

func (s *status) hashtags(text []rune) []fetcher.Hashtag {
	if len(s.Tags) == 0 {
		return nil
	}
	found := words(text, "#＃", "")
	var tags []fetcher.Hashtag
	for _, t := range s.Tags {
		if t.Name != "" {
			tags = append(tags, fetcher.Hashtag{Text: t.Name, Indices: found[strings.ToLower(t.Name)]})
		}
	}
	return tags
}

// userMentions returns the mentions with their offsets in the text. It looks for "@user@host"
// and then for "@user", which most servers write.
func (s *status) userMentions(text []rune) []fetcher.Mention {
	if len(s.Mentions) == 0 {
		return nil
	}
	found := words(text, "@", ".-@")
	var mentions []fetcher.Mention
	for _, m := range s.Mentions {
		username := m.Acct
		if username == "" {
			username = m.Username
		}
		if username == "" {
			continue
		}
		at := found[strings.ToLower(username)]
		if at == nil {
			at = found[strings.ToLower(m.Username)]
		}
		mentions = append(mentions, fetcher.Mention{ID: string(m.ID), Username: username, Indices: at})
	}
	return mentions
}

func (s *status) poll() *fetcher.Poll {
	if s.Poll == nil || len(s.Poll.Options) == 0 {
		return nil
	}
	p := &fetcher.Poll{ID: string(s.Poll.ID), EndDatetime: s.Poll.ExpiresAt}
	created, ok := parseTime(s.CreatedAt)
	if end, ends := parseTime(s.Poll.ExpiresAt); ok && ends && end.After(created) {
		p.DurationMinutes = int64(math.Round(end.Sub(created).Minutes()))
	}
	for i, o := range s.Poll.Options {
		p.Options = append(p.Options, fetcher.PollOption{Position: int64(i + 1), Label: o.Title, Votes: number(o.Votes)})
	}
	return p
}
