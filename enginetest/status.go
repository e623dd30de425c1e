package enginetest

import (
	stdhtml "html"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
)

// status is the API's entity Status, with the members that clients may rely on and those that the
// platform sets. Nil pointers are encoded as null.
type status struct {
	ID              *string     `json:"id"`
	CreatedAt       *string     `json:"created_at"`
	InReplyToID     *string     `json:"in_reply_to_id"`
	InReplyToUserID *string     `json:"in_reply_to_account_id"`
	Sensitive       bool        `json:"sensitive"`
	SpoilerText     string      `json:"spoiler_text"`
	Visibility      string      `json:"visibility"`
	Language        string      `json:"language"`
	URI             string      `json:"uri"`
	URL             string      `json:"url"`
	RepliesCount    int         `json:"replies_count"`
	ReblogsCount    int         `json:"reblogs_count"`
	FavouritesCount int         `json:"favourites_count"`
	QuotesCount     int         `json:"quotes_count"`
	EditedAt        *string     `json:"edited_at"`
	Content         string      `json:"content"`
	Reblog          *status     `json:"reblog"`
	Quote           *quote      `json:"quote"`
	Account         accountJSON `json:"account"`
	Media           [0]struct{} `json:"media_attachments"`
	Mentions        [0]struct{} `json:"mentions"`
	Tags            [0]struct{} `json:"tags"`
	Emojis          [0]struct{} `json:"emojis"`
	Card            *struct{}   `json:"card"`
	Poll            *struct{}   `json:"poll"`
}

type quote struct {
	State  string  `json:"state"`
	Status *status `json:"quoted_status"`
}

// accountJSON is the API's entity Account.
type accountJSON struct {
	ID             string      `json:"id"`
	Username       string      `json:"username"`
	Acct           string      `json:"acct"`
	DisplayName    string      `json:"display_name"`
	Locked         bool        `json:"locked"`
	Bot            bool        `json:"bot"`
	Discoverable   bool        `json:"discoverable"`
	Group          bool        `json:"group"`
	CreatedAt      *string     `json:"created_at"`
	Note           string      `json:"note"`
	URL            string      `json:"url"`
	URI            string      `json:"uri"`
	Avatar         string      `json:"avatar"`
	AvatarStatic   string      `json:"avatar_static"`
	Header         string      `json:"header"`
	HeaderStatic   string      `json:"header_static"`
	FollowersCount int         `json:"followers_count"`
	FollowingCount int         `json:"following_count"`
	StatusesCount  int         `json:"statuses_count"`
	LastStatusAt   *string     `json:"last_status_at"`
	Emojis         [0]struct{} `json:"emojis"`
	Fields         [0]struct{} `json:"fields"`
	Suspended      bool        `json:"suspended,omitempty"`
}

func newAccount(au social.Author) accountJSON {
	avatar := social.Host + "/avatar.png"
	return accountJSON{
		ID: au.ID, Username: au.Name, Acct: au.Name, DisplayName: au.Name,
		CreatedAt: formatAPITime(social.Year2000),
		URL:       au.URL(), URI: social.Host + "/users/" + au.ID,
		Avatar: avatar, AvatarStatic: avatar, Header: avatar, HeaderStatic: avatar,
	}
}

// account is the answer to a look-up.
func (r *reply) account() accountJSON {
	a := newAccount(r.author)
	a.Locked, a.Suspended = r.protected, r.suspended
	return a
}

// statuses returns the statuses of a page. If the fault is NullFields or WrongAuthor, the first is
// bogus.
func (r *reply) statuses() []status {
	list := make([]status, 0, len(r.posts)+1)
	if r.kind == nullFields || r.kind == wrongAuthor {
		po, au := r.bogus()
		s := po.status(au)
		if po.ID == 0 {
			s.ID = nil
		}
		list = append(list, s)
	}
	for _, po := range r.posts {
		list = append(list, po.status(r.author))
	}
	return list
}

func (po *post) status(au social.Author) status {
	s := newStatus(social.FormatID(po.ID), po.text, po.published, au)
	if r := po.reply; r != nil {
		s.InReplyToID, s.InReplyToUserID = &r.ID, &r.userID
	}
	if r := po.retweet; r != nil {
		original := r.status()
		s.Reblog = &original
		// The boost repeats the text of the original, without the "RT" of other platforms.
		s.Content = original.Content
	}
	if r := po.quote; r != nil {
		quoted := r.status()
		s.Quote = &quote{State: "accepted", Status: &quoted}
	}
	return s
}

func (r *ref) status() status {
	return newStatus(r.ID, r.text, r.published, social.Author{ID: r.userID, Name: r.username})
}

func newStatus(id, text string, at time.Time, au social.Author) status {
	url := au.URL() + "/" + id
	return status{
		ID:         &id,
		CreatedAt:  formatAPITime(at),
		Visibility: "public",
		Language:   "en",
		URI:        url,
		URL:        url,
		Content:    contentHTML(text),
		Account:    newAccount(au),
	}
}

// contentHTML returns a text as HTML, as a Mastodon server does. A blank line begins a paragraph, and
// a single line break is <br>.
func contentHTML(text string) string {
	var b strings.Builder
	for _, part := range strings.Split(text, "\n\n") {
		b.WriteString("<p>")
		b.WriteString(strings.ReplaceAll(stdhtml.EscapeString(part), "\n", "<br />"))
		b.WriteString("</p>")
	}
	return b.String()
}
